"""Molecules as texts: SMILES in tokens, files of them, and what RDKit says of them."""
