"""A gate's result for CI systems: JUnit XML, GitHub's workflow commands, and what stands there after an error."""

from __future__ import annotations

import re
import secrets
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.base.display import printable
from raglift.gating.text import (
    bound_text,
    check_lines,
    check_sentence,
    missing_sentence,
    regression_sentence,
    verdict_sentence,
)
from raglift.gating.view import gate_view, regressed_sections
from raglift.metrics.computing import mean_title
from raglift.rendering.document import Document, table_of
from raglift.rendering.markdown import markdown_of
from raglift.rendering.terminal import as_text, document_text, section_parts
from raglift.report.format import number_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raglift.gating.records import GateResultRecord, Regression
    from raglift.rendering.document import Part


# A gate's result as JUnit XML, which every CI system reads.


_NO_XML = re.compile("[\ufffe\uffff]")
"""What XML 1.0 cannot hold, besides what no terminal should be sent."""
_SUITE = "raglift gate"
JUNIT_MARK = f'<testsuites name="{_SUITE}"'
"""What a file of JUnit XML that a gate wrote has in it."""


@dataclass(frozen=True)
class Case:
    """One test case."""

    name: str
    """What was checked."""
    message: str
    """Why it failed; empty if it passed."""
    details: str
    """All there is to say of it."""
    is_error: bool = False
    """Whether it could not be checked at all."""


def gate_junit(result: GateResultRecord) -> str:
    """Return a gate's result as JUnit XML: a test case for each check, each metric compared, and missing queries."""
    return junit_xml(
        result.name, list(_cases(result)), f"{verdict_sentence(result)}\n\n{document_text(gate_view(result))}"
    )


def junit_xml(run: str, cases: Sequence[Case], said: str) -> str:
    """Return JUnit XML.

    Args:
        run: what the run is called.
        cases: what was checked.
        said: what the command printed.
    """
    broken = [case for case in cases if case.message]
    errors = sum(case.is_error for case in broken)
    counts = {"tests": len(cases), "failures": len(broken) - errors, "errors": errors, "skipped": 0}
    attributes = {"name": _SUITE} | {name: str(count) for name, count in counts.items()}
    root = ET.Element("testsuites", attributes)
    suite = ET.SubElement(root, "testsuite", attributes)
    for case in cases:
        found = ET.SubElement(suite, "testcase", {"classname": _text(f"{_SUITE}.{run}"), "name": _text(case.name)})
        if case.message:
            kind = "error" if case.is_error else "failure"
            ET.SubElement(found, kind, {"message": _text(case.message), "type": "gate"}).text = _text(case.details)
    ET.SubElement(suite, "system-out").text = _text(said)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _cases(result: GateResultRecord) -> Iterator[Case]:
    """Yield the test cases."""
    if result.expected is not None:
        missing = missing_sentence(result)
        yield Case("no query missing", missing, "\n".join((missing, *result.missing)))
    for check in result.checks:
        sentence = check_sentence(check)
        details = _lines((sentence, *check_lines(check)))
        yield Case(f"{check.name} {bound_text(check)}", "" if check.passed else sentence, details)
    for one in result.regressions:
        sentence = regression_sentence(one)
        rankings = [part for section in regressed_sections(one) for part in section_parts(section)]
        details = _lines((sentence, *rankings, "", "Every query that did worse:", *_changes(one)))
        yield Case(f"no regression in {mean_title(one.metric)}", "" if one.passed else sentence, details)


def _changes(one: Regression) -> list[str]:
    """Return how much each query that did worse lost."""
    return [f"{flip.query_id}: {number_text(flip.before)} → {number_text(flip.after)}" for flip in one.regressed]


def _lines(parts: Sequence[Part]) -> str:
    return as_text(parts, wrap=False)


def _text(text: str) -> str:
    return _NO_XML.sub("�", printable(text))


# A gate's result as GitHub's workflow commands.


_MOST = 10
"""GitHub shows no more errors of a step."""
_FLIPPED = 5


def gate_annotations(result: GateResultRecord) -> str:
    """Return a line `::error title=…::…` for each check that failed; empty if all passed."""
    found = list(_failures(result))
    if len(found) > _MOST:
        rest = ", ".join(name for name, _ in found[_MOST - 1 :])
        found = [*found[: _MOST - 1], (f"{len(found) - _MOST + 1} more checks", f"failed too: {rest}")]
    return "".join(annotation(name, result.name, message) for name, message in found)


def annotation(what: str, run: str, message: str) -> str:
    """Return one `::error`: what failed of which run, and what is to be said of it."""
    return f"::error title={_property(f'raglift gate: {what} ({run})')}::{_data(message)}\n"


def without_commands(text: str) -> str:
    """Return a text between two lines that keep GitHub from reading commands in it, as untrusted text may hold some."""
    token = secrets.token_hex(16)
    return f"::stop-commands::{token}\n{text}\n::{token}::\n"


def _failures(result: GateResultRecord) -> Iterator[tuple[str, str]]:
    """Yield what failed, and what is to be said of it."""
    if result.missing:
        yield "missing queries", f"{missing_sentence(result)}: the run cannot pass"
    for check in result.checks:
        if not check.passed:
            yield check.name, "\n".join((check_sentence(check), *check_lines(check)))
    for one in result.regressions:
        if not one.passed:
            yield mean_title(one.metric), "\n".join((regression_sentence(one), *_changes(one)[:_FLIPPED]))


def _data(text: str) -> str:
    """Escape a message, as GitHub's own toolkit does."""
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Escape a property, as GitHub's own toolkit does."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")


# A gate that failed with an error: its output files report the error, instead of the result of an earlier run.


@dataclass(frozen=True)
class GateError:
    """Why a run could not be gated."""

    name: str
    """What the run is called."""
    reason: str
    """What is the matter, as the command says it."""
    is_incomplete: bool
    """Whether the run is not measured whole; else there is a mistake, or it cannot be read."""

    def __str__(self) -> str:
        if self.is_incomplete:
            return f"{self.name}: INCOMPLETE: not all of it is measured, so it cannot pass"
        return f"{self.name}: NOT DECIDED: there is an error, so nothing was checked"

    def to_markdown(self) -> str:
        """Return a summary for a pull request, as GitHub's Markdown."""
        return markdown_of(Document(str(self), self.reason, table_of((), ()), (), passed=False))

    def to_junit(self) -> str:
        """Return JUnit XML with one test case, which could not be run."""
        return junit_xml(self.name, [Case("the gate", self.reason, self.reason, is_error=True)], str(self))

    def to_github(self) -> str:
        """Return GitHub's workflow command `::error`."""
        return annotation("not decided", self.name, self.reason)
