"""What runs in a process of its own, on the standard library alone: nothing here imports the rest of the package."""
