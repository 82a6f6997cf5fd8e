"""Write the page that a package index shows: the README, with links that lead to the repository.

hatchling runs this file when a package is built (see pyproject.toml). Links in the README are relative, so that they
work wherever the repository lies; an index has no such files. The address is `Repository` of `project.urls`. Without
one a link becomes its text and a picture is left out, so that nothing on the page leads nowhere.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

LINK = re.compile(r"(!?)(\[[^\]]*\])\((?!https?:|#)([^)]+)\)")


def package_page(readme: str, repository: str | None) -> str:
    """Make links to files absolute, as GitHub and GitLab have them: pages below `blob`, images below `raw`."""

    def absolute(link: re.Match[str]) -> str:
        image, text, path = link.groups()
        if repository is None:
            return "" if image else text[1:-1]
        return f"{image}{text}({repository.rstrip('/')}/{'raw' if image else 'blob'}/main/{path})"

    return LINK.sub(absolute, readme)


def get_metadata_hook() -> type:
    """Give hatchling the hook that it looks for in this file."""
    from hatchling.metadata.plugin.interface import MetadataHookInterface

    class PackagePage(MetadataHookInterface):
        def update(self, metadata: dict[str, Any]) -> None:
            readme = Path(self.root, "README.md").read_text(encoding="utf-8")
            text = package_page(readme, metadata["urls"].get("Repository"))
            metadata["readme"] = {"content-type": "text/markdown", "text": text}

    return PackagePage
