"""The loop: who waits, what a step does, and what comes out of it."""
