"""A page as one HTML file: templates, inlined styles and scripts, and the query browser's data."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import math
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from raglift.base.display import encodable, printable, shorten
from raglift.base.limits import is_folder, is_stream, is_symlink_loop, is_there, resolved
from raglift.base.replacing import beside, write_to_stream
from raglift.errors import ConfigurationError, MissingDependency
from raglift.rendering.document import Document, Table
from raglift.report.page.layout import Definitions, in_summary, laid_sections, laid_table

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from jinja2 import Environment

    from raglift.records.labels import Passage
    from raglift.report.page.query_browser import (
        DrillDown,
        QueryDetail,
        ShownCall,
        ShownHit,
        ShownMatch,
        ShownSession,
        ViewDetail,
    )


# Inlined styles and scripts, allowed by their hashes only.


REPORT = "raglift.report.page"
"""The package whose folder `assets` holds the styles and scripts of reports."""

_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3.5" fill="#1d5fa6"/>'
    '<path d="M4 11.5 8 4.5l4 7" fill="none" stroke="#fff" stroke-width="2" stroke-linejoin="round"/></svg>'
)
ICON = "data:image/svg+xml," + quote(_ICON)
"""What is shown next to a page's title, as an address."""


@cache
def asset(name: str, package: str = REPORT) -> str:
    """Return a file of a package's folder `assets`."""
    return resources.files(package).joinpath("assets", name).read_text(encoding="utf-8")


def one_script(*scripts: str) -> str:
    """Return small scripts as one that leaves no names behind."""
    return '(() => {\n"use strict";\n' + "\n".join(scripts) + "\n})();"


def source_hash(block: str) -> str:
    """Return what a content security policy calls a script or style that is in the page."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(block.encode()).digest()).decode()}'"


# The data of the query browser in a page: compressed JSON.


_DIGITS = 4
"""What is kept of a score or a value."""
_LEVEL = 6
"""Of gzip: 9 takes twice as long for half a percent."""


def packed(drill_down: DrillDown) -> bytes:
    """Return the queries as JSON, packed by gzip: many things as arrays, few as objects.

    A number that is not finite is null. A lone surrogate is U+FFFD, one for one, so that offsets hold.

    Args:
        drill_down: what to pack.
    """
    documents = {name: number for number, name in enumerate(_documents(drill_down))}
    content = {
        "views": [{"system": view.system, "stage": view.stage, "title": view.title} for view in drill_down.views],
        "systems": drill_down.systems,
        "left": drill_down.left,
        "right": drill_down.right,
        "metrics": drill_down.metrics,
        "neutral": drill_down.neutral,
        "primary": drill_down.primary,
        "k": drill_down.k,
        "match": drill_down.match,
        "notes": drill_down.notes,
        "documents": list(documents),
        "chunks": [
            (documents.get(chunk.document, -1), *chunk[1:5], *([chunk.skipped] if chunk.skipped else ()))
            for chunk in drill_down.chunks
        ],
        "queries": [_query(query) for query in drill_down.queries],
    }
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return gzip.compress(encodable(text).encode(), _LEVEL, mtime=0)


def _documents(drill_down: DrillDown) -> dict[str, None]:
    return dict.fromkeys(chunk.document for chunk in drill_down.chunks if chunk.document)


def _query(query: QueryDetail) -> Mapping[str, object]:
    content: dict[str, object] = {
        "id": query.id,
        "text": query.text,
        "tags": query.tags,
        "answerable": query.answerable,
        "facts": [[_passage(passage) for passage in alternatives] for alternatives in query.facts],
        "fates": query.all_outcomes,
        "views": [_view(view) for view in query.views],
    }
    if any(query.sessions):
        content["sessions"] = [[_session(run) for run in runs] for runs in query.sessions]
    return content


def _session(run: ShownSession) -> Mapping[str, object]:
    content: dict[str, object] = {
        "calls": [_call(call) for call in run.calls],
        "fates": run.outcomes,
        "tokens": run.tokens,
        "all": run.all_tokens,
        "value": _number(run.value),
    }
    if run.context is not None:
        content["context"] = [_hit(hit) for hit in run.context]
    if run.views:
        content["views"] = [_view(view) for view in run.views]
    return content if run.error is None else content | {"error": run.error}


def _call(call: ShownCall) -> Mapping[str, object]:
    known = {"seen": _number(call.seen), "seconds": _number(call.seconds), "error": call.error}
    said = {"again": call.again, "tool": call.tool, "arguments": call.arguments, "reported": call.is_reported}
    return {
        "query": call.query,
        "tokens": call.tokens,
        "new": call.new,
        **{name: value for name, value in known.items() if value is not None},
        **{name: value for name, value in said.items() if value},
    }


def _passage(passage: Passage) -> Mapping[str, object]:
    content: dict[str, object] = {
        "document": passage.doc_id,
        "start": passage.start,
        "end": passage.end,
        "text": passage.text,
        "chunk_id": passage.chunk_id,
        "grade": passage.grade,
    }
    return content if passage.annotator is None else content | {"annotator": passage.annotator.name}


def _view(view: ViewDetail) -> Mapping[str, object]:
    content: dict[str, object] = {
        "hits": [_hit(hit) for hit in view.hits],
        "returned": view.returned,
        "values": [_number(value) for value in view.values],
        "facts": view.facts,
    }
    if view.calls or view.found_by:
        content |= {"calls": view.calls, "by": view.found_by}
    return content if view.error is None else content | {"error": view.error}


def _hit(hit: ShownHit) -> tuple[object, ...]:
    return hit.rank, hit.chunk, _number(hit.score), [_match(match) for match in hit.matches]


def _match(match: ShownMatch) -> tuple[object, ...]:
    flags = int(match.counts), int(match.satisfies)
    return match.fact, match.passage, match.direction, *flags, _number(match.covered), match.start, match.end


def _number(value: float | None) -> float | None:
    """Return a number that JSON has, with as many digits as anyone reads."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.{_DIGITS}g}")
    return int(rounded) if rounded.is_integer() else rounded


# Pages as one HTML file: everything inlined, no network requests, every text escaped.


GENERATOR = "raglift report"
STYLES = ("page.css", "shell.css", "explorer.css")
SESSION_STYLES = ("sessions.css", "curves.css")
PRINT = "print.css"
"""After all others, which it overrides."""
SHELL = ("elements.js", "definitions.js", "sorting.js", "shell.js", "scheme.js")
"""What every page needs."""
BROWSER = (
    "texts.js",
    "markdown.js",
    "reading.js",
    "choosing.js",
    "exporting.js",
    "address.js",
    "listing.js",
    "hits.js",
    "details.js",
    "explorer.js",
)
"""What a page with queries needs besides."""
SESSIONS = ("curves.js", "sessions.js")
"""What a page with sessions needs besides."""
INDEX = ("index.js",)
"""What an index of runs needs besides."""
BASELINES = ("baselines.js",)
"""What a comparison of which the baseline can be chosen needs besides."""
DRAWING = ("drawing.js",)
_FOLDED = ("Versions", "Machine")
"""What was measured, but few want to know: folded."""
HEAD = 2048
"""How far into a file its generator is looked for, in bytes."""


@dataclass(frozen=True)
class Page(Document):
    """A document with the queries one by one, as the HTML page shows it."""

    queries: DrillDown | None = None
    """None where there is nothing to show of them."""
    is_index: bool = False
    """Whether its headline lists runs, of which two can be ticked."""
    folder: str = ""
    """The folder of the runs of an index, as it is written in commands."""
    baseline: str = ""
    """The system that the others are compared with in the headline, where another one can be chosen."""
    baselines: tuple[tuple[str, Table], ...] = ()
    """The headline with each of the others as the baseline."""


def render(document: Page) -> str:
    """Return a page as HTML that is complete in itself.

    Its policy allows the scripts and the styles inlined here, by their hashes, and nothing else: no request, no other
    script, no form. Texts are escaped; control characters and direction overrides in them come out as �.

    Raises:
        MissingDependency: Jinja2 or, for a page with charts, altair is not installed.
    """
    from raglift import __version__

    environment = _environment()
    sections = laid_sections(document)
    definitions = Definitions()
    if document.queries is not None:
        definitions.use(document.queries.metrics)
    has_sessions = document.queries is not None and any(any(one.sessions) for one in document.queries.queries)
    wanted = (
        (SESSIONS, has_sessions),
        (BROWSER, document.queries is not None),
        (INDEX, document.is_index),
        (BASELINES, bool(document.baselines)),
    )
    parts = (*SHELL, *(name for names, is_needed in wanted if is_needed for name in names))
    scripts = [one_script(*map(asset, parts))]
    if any(figure for section in sections for figure in section.figures):
        scripts += [_vega(), one_script(*map(asset, DRAWING))]
    styles = (*STYLES, *(SESSION_STYLES if has_sessions else ()), PRINT)
    style = "\n".join(map(asset, styles))
    content = {
        "document": document,
        "generator": f"{GENERATOR} {__version__}",
        "headline": laid_table(document.headline, document.labels),
        "baselines": [(name, laid_table(table, document.labels)) for name, table in document.baselines],
        "first": [laid for laid, one in zip(sections, document.sections, strict=True) if in_summary(one, document)],
        "sections": [
            laid for laid, one in zip(sections, document.sections, strict=True) if not in_summary(one, document)
        ],
        "facts": sum(share.count for share in document.shares),
        "definitions": definitions,
        "folded": _FOLDED,
        "has_details": bool(
            document.measured
            or document.tiles
            or any(not in_summary(section, document) for section in document.sections)
        ),
        "queries": "" if document.queries is None else base64.b64encode(packed(document.queries)).decode(),
        "icon": ICON,
        "style": style,
        "scripts": scripts,
        "policy": _policy(scripts, style),
    }
    return environment.get_template("page.html.j2").render(content)


def write_page(document: Page, path: str | os.PathLike[str], *, overwrite: bool = True) -> Path:
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
    if is_stream(target):
        return _send_page(document, target)
    check_page_free(target, overwrite=overwrite)
    content = render(document).encode()
    place = resolved(target)
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


def _send_page(document: Page, target: Path) -> Path:
    """Write a page to a pipe or a device, as `/dev/stdout`."""
    try:
        write_to_stream(target, render(document).encode())
    except OSError as error:
        raise ConfigurationError(
            f"{target}: the report cannot be written: {error.strerror or error}; expected a path that can be written"
        ) from error
    return target


def check_page_free(target: Path, *, overwrite: bool) -> None:
    """Raise unless a page can be written there without destroying anything else."""
    if is_folder(target):
        raise ConfigurationError(f"{target}: found a folder; expected the name of a file, as {target / 'report.html'}")
    if is_symlink_loop(target):
        raise ConfigurationError(f"{target}: found a link that leads back to itself; expected the name of a file")
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
    from raglift.report.charts.parts import javascript

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
