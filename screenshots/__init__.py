"""Pictures of the running debugger, and the program that takes them."""
