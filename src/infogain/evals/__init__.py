"""Benchmarks: posed to a model, scored, and kept in runs that survive an interruption."""
