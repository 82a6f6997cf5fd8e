"""Checkpoints of LLaDA, Dream and SDAR: their configurations, names of weights and files."""
