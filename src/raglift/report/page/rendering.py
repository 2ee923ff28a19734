"""Pages as one HTML file: everything inlined, nothing asked of a network, no text taken for markup."""

from __future__ import annotations

import base64
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from raglift.dataset.replacing import beside
from raglift.errors import ConfigurationError, MissingDependency
from raglift.paths import is_folder, is_there
from raglift.printable import printable, shorten
from raglift.report.page.inlining import ICON, asset, one_script, source_hash
from raglift.report.page.layout import laid_sections, laid_table
from raglift.report.page.packing import packed

if TYPE_CHECKING:
    import os

    from jinja2 import Environment

    from raglift.rendering.document import Document

__all__ = ["render", "write_page"]

GENERATOR = "raglift report"
STYLES = ("page.css", "explorer.css", "print.css")
SCRIPTS = (
    "elements.js",
    "texts.js",
    "reading.js",
    "choosing.js",
    "listing.js",
    "hits.js",
    "details.js",
    "explorer.js",
    "scheme.js",
)
DRAWING = ("drawing.js",)
HEAD = 2048
"""How far into a file its generator is looked for, in bytes."""


def render(document: Document) -> str:
    """Return a page as HTML that is complete in itself.

    Its policy allows the scripts and the styles inlined here, by their hashes, and nothing else: no request, no other
    script, no form. Texts are escaped; control characters and direction overrides in them come out as �.

    Raises:
        MissingDependency: Jinja2 or, for a page with charts, altair is not installed.
    """
    from raglift import __version__

    environment = _environment()
    sections = laid_sections(document)
    scripts = [one_script(*map(asset, SCRIPTS))]
    if any(figure for section in sections for figure in section.figures):
        scripts += [_vega(), one_script(*map(asset, DRAWING))]
    style = "\n".join(map(asset, STYLES))
    content = {
        "document": document,
        "generator": f"{GENERATOR} {__version__}",
        "headline": laid_table(document.headline, document.labels),
        "sections": sections,
        "queries": "" if document.queries is None else base64.b64encode(packed(document.queries)).decode(),
        "icon": ICON,
        "style": style,
        "scripts": scripts,
        "policy": _policy(scripts, style),
    }
    return environment.get_template("page.html.j2").render(content)


def write_page(document: Document, path: str | os.PathLike[str], *, overwrite: bool = True) -> Path:
    """Write a page to a file, all of it or nothing.

    A page can be made again from what was measured, so a page that raglift wrote is replaced by default. Any other file
    is left alone, whatever is asked.

    Args:
        document: the page.
        path: where to write it; its folder exists.
        overwrite: whether a page of raglift's that is there already may be replaced.

    Returns:
        The path.

    Raises:
        ConfigurationError: the path is a folder or another file, or cannot be written.
        MissingDependency: a package that pages are made with is not installed.
    """
    target = Path(path)
    _check_free(target, overwrite=overwrite)
    content = render(document).encode()
    place = target.resolve()
    try:
        with beside(place) as temporary:
            written = temporary / "written"
            written.write_bytes(content)
            written.replace(place)
    except OSError as error:
        raise ConfigurationError(
            f"{target}: the report cannot be written: {error.strerror or error}; expected a path that can be written; "
            "nothing was changed there"
        ) from error
    return target


def _check_free(target: Path, *, overwrite: bool) -> None:
    """Raise unless a page can be written there without destroying anything else."""
    if is_folder(target):
        raise ConfigurationError(f"{target}: found a folder; expected the name of a file, as {target / 'report.html'}")
    if not is_folder(target.parent):
        raise ConfigurationError(
            f"{target}: found no folder {target.parent}; expected a folder that exists: create it, or choose another"
        )
    if not is_there(target):
        return
    if not _is_page(target):
        raise ConfigurationError(
            f"{target}: found a file there that is not a report of raglift, and so is not overwritten; "
            "expected a new name: choose another, or move the file away"
        )
    if not overwrite:
        raise ConfigurationError(
            f"{target}: found a report there already; "
            "expected a new name: choose another, or replace it (overwrite=True)"
        )


def _is_page(path: Path) -> bool:
    """Whether raglift wrote a file: its head names who made it."""
    try:
        with path.open("rb") as file:
            return f'<meta name="generator" content="{GENERATOR} '.encode() in file.read(HEAD)
    except OSError:
        return False


def _policy(scripts: list[str], style: str) -> str:
    allowed = " ".join(source_hash(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {source_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _vega() -> str:
    from raglift.report.charts.embedding import javascript

    return javascript()


@cache
def _environment() -> Environment:
    """Return what fills the template: every value is escaped, cut where the template says so, and harmless to read."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise MissingDependency(error.name or "jinja2", "report", "a report as a page") from None
    environment = Environment(
        loader=PackageLoader("raglift.report.page", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["clamped"] = _clamped
    return environment


def _clamped(text: str, most: int) -> str:
    """Return at most so many characters of a text, and none that could reorder a line."""
    return printable(shorten(text, most))
