"""A gate's result for CI systems: JUnit XML, GitHub's workflow commands, and what stands there after an error."""

from __future__ import annotations

import re
import secrets
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from raglift.gating.text import Finding, findings_of, verdict_sentence
from raglift.gating.view import gate_view
from raglift.rendering.document import Document, table_of
from raglift.rendering.markdown import markdown_of
from raglift.rendering.terminal import document_text
from raglift.utilities.display import printable

if TYPE_CHECKING:
    from raglift.gating.deciding import GateResult


# A gate's result as JUnit XML, which every CI system reads.


_NO_XML = re.compile("[\ufffe\uffff]")
"""What XML 1.0 cannot hold, besides what no terminal should be sent."""
_SUITE = "raglift gate"


def gate_junit(result: GateResult) -> str:
    """Return a gate's result as JUnit XML: a test case for each check, each metric compared, and missing queries."""
    printed = f"{verdict_sentence(result)}\n\n{document_text(gate_view(result))}"
    return _junit_xml(result.name, list(findings_of(result)), printed, "failure")


def _junit_xml(run: str, findings: Sequence[Finding], printed: str, kind: Literal["failure", "error"]) -> str:
    """Return JUnit XML of what was found, and of what the command printed."""
    broken = sum(not found.passed for found in findings)
    counts = {"tests": len(findings), "failures": 0, "errors": 0, "skipped": 0, f"{kind}s": broken}
    attributes = {"name": _SUITE} | {name: str(count) for name, count in counts.items()}
    root = ET.Element("testsuites", attributes)
    suite = ET.SubElement(root, "testsuite", attributes)
    for found in findings:
        case = ET.SubElement(suite, "testcase", {"classname": _text(f"{_SUITE}.{run}"), "name": _text(found.name)})
        if not found.passed:
            details = "\n".join((found.sentence, *found.lines))
            ET.SubElement(case, kind, {"message": _text(found.sentence), "type": "gate"}).text = _text(details)
    ET.SubElement(suite, "system-out").text = _text(printed)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _text(text: str) -> str:
    return _NO_XML.sub("�", printable(text))


# A gate's result as GitHub's workflow commands.


_MOST = 10
"""GitHub shows no more errors of a step."""
_MOST_LINES = 5


def gate_annotations(result: GateResult) -> str:
    """Return a line `::error title=…::…` for each check that failed; empty if all passed."""
    failed = [found for found in findings_of(result) if not found.passed]
    shown = failed if len(failed) <= _MOST else failed[: _MOST - 1]
    text = "".join(
        _annotation(found.subject, result.name, "\n".join((found.sentence, *found.lines[:_MOST_LINES])))
        for found in shown
    )
    if others := failed[len(shown) :]:
        names = ", ".join(found.subject for found in others)
        text += _annotation(f"{len(others)} more checks", result.name, f"failed too: {names}")
    return text


def _annotation(what: str, run: str, message: str) -> str:
    """Return one `::error`: what failed of which run, and what is to be said of it."""
    return f"::error title={_property(f'raglift gate: {what} ({run})')}::{_data(message)}\n"


def without_commands(text: str) -> str:
    """Return a text between two lines that keep GitHub from reading commands in it, as untrusted text may hold some."""
    token = secrets.token_hex(16)
    return f"::stop-commands::{token}\n{text}\n::{token}::\n"


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

    def __str__(self) -> str:
        return f"{self.name}: NOT DECIDED: there is an error, so nothing was checked"

    def to_markdown(self) -> str:
        """Return a summary for a pull request, as GitHub's Markdown."""
        return markdown_of(Document(str(self), self.reason, table_of((), ()), (), passed=False))

    def to_junit(self) -> str:
        """Return JUnit XML with one test case, which could not be run."""
        return _junit_xml(self.name, [Finding("the gate", "not decided", False, self.reason)], str(self), "error")

    def to_github(self) -> str:
        """Return GitHub's workflow command `::error`."""
        return _annotation("not decided", self.name, self.reason)
