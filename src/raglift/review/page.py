"""The page that people judge on: one HTML file with its styles and scripts in it."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

from raglift.errors import MissingDependency
from raglift.report.page.inlining import ICON, asset, one_script, source_hash

__all__ = ["Page", "build_page", "check_installed"]

_PACKAGE = "raglift.review"
_SHARED_STYLES = ("page.css", "explorer.css")
_STYLES = ("review.css",)
_SHARED_SCRIPTS = ("elements.js", "texts.js")
_SCRIPTS = (
    "talking.js",
    "words.js",
    "lines.js",
    "listing.js",
    "cards.js",
    "facts.js",
    "keys.js",
    "deciding.js",
    "telling.js",
    "review.js",
)
_LAST = "scheme.js"


@dataclass(frozen=True)
class Page:
    """What is sent to a browser."""

    html: str
    policy: str
    """Its content security policy, as a header."""


def check_installed() -> None:
    """Raise a MissingDependency unless what the page needs is installed, before anything is read or made for it."""
    for name in ("uvicorn", "starlette", "jinja2", "filelock"):
        if importlib.util.find_spec(name) is None:
            raise MissingDependency(name, "review", "raglift review")


def build_page(name: str) -> Page:
    """Return the page; what it shows of queries and chunks it asks the server for.

    Args:
        name: the title of the labels under review.

    Raises:
        MissingDependency: Jinja2 is not installed.
    """
    check_installed()
    from jinja2 import Environment, StrictUndefined

    own = [asset(part, _PACKAGE) for part in _SCRIPTS]
    script = one_script(*map(asset, _SHARED_SCRIPTS), *own, asset(_LAST))
    style = "\n".join([*map(asset, _SHARED_STYLES), *(asset(part, _PACKAGE) for part in _STYLES)])
    template = Environment(autoescape=True, undefined=StrictUndefined).from_string(asset("review.html.j2", _PACKAGE))
    policy = (
        f"default-src 'none'; script-src {source_hash(script)}; style-src {source_hash(style)}; img-src data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return Page(template.render(name=name, icon=ICON, style=style, script=script), policy)
