"""Explanations of walks: what was asked and found, who wrote what, where gradients meet, get lost or go wrong."""
