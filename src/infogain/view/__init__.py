"""The trace viewer: traces as one self-contained piece of HTML that plays in any browser."""

from infogain.view.viewer_page import assets, fragment, page

__all__ = ["assets", "fragment", "page"]
