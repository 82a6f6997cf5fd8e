"""Text in and out: tokenizers, models with their tokenizer, and prompts as rows of token ids."""
