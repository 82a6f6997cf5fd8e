"""Benchmarks: posed to a model, scored, and stored in runs that survive an interruption."""
