"""Texts that are neither right nor wrong, compared in pairs by a judge: a language model behind a server."""
