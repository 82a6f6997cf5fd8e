"""Pages from templates: whatever a value holds is shown as text, and nothing is fetched from anywhere."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def environment() -> Environment:
    """The one set-up of jinja2: it escapes every value, and refuses a template that names one it was not given."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("infogain.report", "templates")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def render(template: str, /, **values: Any) -> str:
    """A template of report/templates with these values. HTML made here or by the viewer is given as `markup`."""
    return environment().get_template(template).render(values)


def markup(html: str) -> Any:
    """HTML that was made by this package and is put into a page as it is."""
    from markupsafe import Markup

    return Markup(html)
