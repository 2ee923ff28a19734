"""A page as one HTML file: templates, styles, scripts and the browser's data; the pages of results."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from raglift.analysis.paired_statistics import NOT_COMPARABLE, method_of, primary_of
from raglift.errors import ConfigurationError, MissingDependency
from raglift.rendering.document import Document
from raglift.rendering.presenting import Presentable, sections_of
from raglift.report.page.decisions import SCRIPT, STYLE, fingerprint
from raglift.report.page.gathering import drill_down
from raglift.report.page.layout import Definitions, in_summary, laid_sections, laid_table
from raglift.report.page.query_browser import MAX_BYTES, bytes_in_page, packed, within
from raglift.report.page.what_if import fair_sides, what_if
from raglift.report.views.comparison import comparison_view, other_of
from raglift.report.views.evaluation import evaluation_view
from raglift.report.views.tiles import target_shown
from raglift.utilities.display import printable, shorten
from raglift.utilities.limits import is_folder, is_stream, is_there
from raglift.utilities.replacing import replacing_file

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from jinja2 import Environment

    from raglift.report.page.decisions import Decision
    from raglift.report.page.query_browser import DrillDown
    from raglift.results.comparison import Comparison
    from raglift.results.evaluation import Evaluation
    from raglift.types.metric import Metric


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
    "address.js",
    "listing.js",
    "hits.js",
    "details.js",
    "explorer.js",
)
"""What a page with queries needs besides."""
SESSIONS = ("curves.js", "sessions.js")
"""What a page with sessions needs besides."""
DRAWING = ("drawing.js",)
WHAT_IF = ("what_if_results.js", "what_if.js")
"""What a page needs besides on which other settings can be tried, …"""
WHAT_IF_STYLES = ("curves.css", "what_if.css")
WORKER = ("statistics.js", "measures.js", "what_if_worker.js")
"""… and what computes the figures, off the page's own thread."""
_FOLDED = ("Versions", "Machine")
"""What was measured, but few want to know: folded."""
HEAD = 2048
"""How far into a file its generator is looked for, in bytes."""


@dataclass(frozen=True)
class Page(Document):
    """A document with the queries one by one, as the HTML page shows it."""

    queries: DrillDown | None = None
    """None where there is nothing to show of them."""
    what_if: bytes | None = None
    """What figures by other settings are computed from (`raglift.report.page.what_if`); None where they cannot be."""
    decisions: tuple[Decision, ...] = ()
    """What its reader is asked to decide."""
    decided: tuple[str, ...] = ()
    """What was decided before, as JSON: the lines with which a file of decisions begins."""


def render(document: Page) -> str:
    """Return a page as HTML that is complete in itself.

    Its policy allows the scripts and the styles inlined here, by their hashes, and nothing else: no request, no other
    script, no form. Texts are escaped; control characters and direction overrides in them come out as �.
    """
    from raglift import __version__

    environment = _environment()
    sections = laid_sections(document)
    definitions = Definitions()
    if document.queries is not None:
        definitions.use(document.queries.metrics)
    has_sessions = document.queries is not None and any(any(one.sessions) for one in document.queries.queries)
    browser = BROWSER if document.queries is not None else ()
    deciding = (SCRIPT,) if document.decisions else ()
    trying = WHAT_IF if document.what_if is not None else ()
    scripts = [one_script(*map(asset, (*SHELL, *(SESSIONS if has_sessions else ()), *browser, *trying, *deciding)))]
    if any(figure for section in sections for figure in section.figures):
        scripts += [_vega(), one_script(*map(asset, DRAWING))]
    styles = (
        *STYLES,
        *(SESSION_STYLES if has_sessions else ()),
        *(WHAT_IF_STYLES if trying else ()),  # an agent's sessions are never tried by other settings
        *([STYLE] if deciding else ()),
        PRINT,
    )
    style = "\n".join(map(asset, styles))
    content = {
        "document": document,
        "generator": f"{GENERATOR} {__version__}",
        "headline": laid_table(document.headline, document.labels),
        "first": [laid for laid in sections if in_summary(laid.section, document)],
        "sections": [laid for laid in sections if not in_summary(laid.section, document)],
        "when": _when(document),
        "facts": sum(share.count for share in document.shares),
        "definitions": definitions,
        "folded": _FOLDED,
        "decisions_page": fingerprint(document.decisions),
        "has_details": bool(
            document.measured
            or document.tiles
            or any(not in_summary(section, document) for section in document.sections)
        ),
        "queries": "" if document.queries is None else base64.b64encode(packed(document.queries)).decode(),
        "what_if": "" if document.what_if is None else base64.b64encode(document.what_if).decode(),
        "worker": one_script(*map(asset, WORKER)) if trying else "",
        "icon": ICON,
        "style": style,
        "scripts": scripts,
        "policy": _policy(scripts, style, has_worker=bool(trying)),
    }
    return environment.get_template("page.html.j2").render(content)


def _when(document: Document) -> str:
    """Return when it was measured and with which version, for the first screen; empty if that is not known."""
    known = dict(document.measured)
    measured = f"measured {known['Measured on']}" if "Measured on" in known else ""
    version = known.get("Versions", "").split(", ")[0]
    return " with ".join(filter(None, [measured, version])) if measured else ""


def write_page(document: Page, path: str | os.PathLike[str], *, overwrite: bool = True) -> Path:
    """Write a page to a file, all of it or nothing.

    A page can be made again from what was measured, so a page that raglift wrote is replaced by default. Any other file
    is left alone, whatever is asked.
    """
    target = Path(path)
    if not is_stream(target):
        check_page_free(target, overwrite=overwrite)
    content = render(document)
    with replacing_file(target) as file:
        file.write(content)
    return target


def check_page_free(target: Path, *, overwrite: bool) -> None:
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


def _policy(scripts: list[str], style: str, *, has_worker: bool) -> str:
    allowed = " ".join(source_hash(script) for script in scripts)
    worker = "worker-src blob:; " if has_worker else ""  # made by the page's own script, from text that is in the page
    return (
        f"default-src 'none'; script-src {allowed}; style-src {source_hash(style)}; img-src data:; {worker}"
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
    environment.filters["split_words"] = _split
    return environment


def _clamped(text: str, most: int) -> str:
    """Return at most so many characters of a text, and none that could reorder a line."""
    return printable(shorten(text, most))


_MOST_WORDS = 25
"""A longer warning is shown in part, and whole on request."""
_BREAK = re.compile(r"(?<=[.;:,]) ")


def _split(text: str) -> tuple[str, str]:
    """Return how a text begins, in few words, and the rest of it; nothing of one that is short."""
    if len(text.split()) <= _MOST_WORDS:
        return text, ""
    places = [found.start() for found in _BREAK.finditer(text) if len(text[: found.start()].split()) <= _MOST_WORDS]
    place = places[-1] if places else len(" ".join(text.split(" ")[:_MOST_WORDS]))
    return text[:place].rstrip(",;:"), text[place:].strip()


def evaluation_page(
    evaluation: Evaluation,
    *,
    primary: Metric | str | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    also: Sequence[Presentable] = (),
    target: Mapping[str, float] | None = None,
) -> Page:
    """Return the page of one evaluation; with a target, it says whether the means reach it."""
    decides = primary_of(primary, evaluation.scores.metrics, evaluation.depth_limit)
    view = evaluation_view(evaluation, decides, seed=seed, confidence=confidence)
    if target:
        said, tile = target_shown(evaluation, target)
        view = replace(view, lead=f"{view.lead} {said}", tiles=(*view.tiles, tile))
    systems, stages = {"": evaluation}, (evaluation.before, evaluation.after)
    queries = drill_down(systems, left=("", stages[0]), right=("", stages[1]), primary=decides, max_bytes=None)
    sides = [("", stage) for stage in dict.fromkeys(fair_sides(evaluation, decides))]
    supposed = what_if(systems, sides, decides, method_of(seed, confidence), queries)
    known = () if evaluation.known_repairs is None else (evaluation.known_repairs,)
    return Page(**_content(view, (*also, *known)), queries=_within(queries, supposed), what_if=supposed)


def comparison_page(comparison: Comparison, *, also: Sequence[Presentable] = ()) -> Page:
    """Return the page of a comparison."""
    other = other_of(comparison)
    queries, supposed = compared_queries(comparison, comparison.names, other)
    return Page(**_content(comparison_view(comparison), also), queries=queries, what_if=supposed)


def compared_queries(comparison: Comparison, names: Sequence[str], right: str) -> tuple[DrillDown, bytes | None]:
    """Return the queries of some systems of a comparison, the baseline among them, and what other settings need."""
    systems = {name: comparison.evaluation(name) for name in names}
    sides = {name: (name, one.after) for name, one in systems.items()}
    baseline = sides[comparison.baseline]
    queries = drill_down(systems, left=baseline, right=sides[right], primary=comparison.primary, max_bytes=None)
    in_order = list(dict.fromkeys((baseline, *sides.values())))
    not_comparable = [row.system for row in comparison.of(comparison.primary) if row.verdict == NOT_COMPARABLE]
    supposed = what_if(systems, in_order, comparison.primary, comparison.method, queries, not_comparable=not_comparable)
    return _within(queries, supposed), supposed


def _within(queries: DrillDown, supposed: bytes | None) -> DrillDown:
    """Return the queries, reduced to what is left of their size budget."""
    return within(queries, MAX_BYTES - bytes_in_page(supposed or b""))


def _content(view: Document, also: Sequence[Presentable]) -> dict[str, Any]:
    """Return the fields of a document, with the sections of further results first."""
    content = {field.name: getattr(view, field.name) for field in fields(Document)}
    return content | {"sections": (*sections_of(also), *view.sections)}
