"""Measurements of speed and memory, as ratios within one run: the machines that run them differ and are noisy."""
