"""Texts in and out: tokenizers, and prompts as rows of token ids."""
