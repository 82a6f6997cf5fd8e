"""Serve models: an engine that decodes requests as they come, and an OpenAI-compatible app in front of it.

The engine needs torch alone. The app is `infogain.serve.app`, which needs `pip install 'infogain[serve]'`.
"""

from infogain.serve.asked import TextRequest, Ticket
from infogain.serve.engine import Engine

__all__ = ["Engine", "TextRequest", "Ticket"]
