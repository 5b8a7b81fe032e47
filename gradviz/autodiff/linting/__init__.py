"""Checks that `lint` runs, by what they look at."""
