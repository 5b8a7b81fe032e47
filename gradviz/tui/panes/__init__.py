"""The panes of the debug screen, each drawn from the desk."""
