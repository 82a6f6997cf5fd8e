"""The code inside the sandbox, on the standard library alone: nothing here imports the rest of the package."""
