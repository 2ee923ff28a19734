"""A gate's result as JUnit XML, which every CI system reads."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.gating.text import check_lines, gate_text, regression_lines
from raglift.gating.words import (
    bound_text,
    check_sentence,
    missing_sentence,
    regression_sentence,
    verdict_sentence,
)
from raglift.metrics import mean_title
from raglift.printable import printable
from raglift.report.terminal.rendering import as_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raglift.gating.records import GateResultRecord

__all__ = ["Case", "gate_junit", "junit_xml"]

_NO_XML = re.compile("[\ufffe\uffff]")
"""What XML 1.0 cannot hold, beside what no terminal should be sent."""
_SUITE = "raglift gate"


@dataclass(frozen=True)
class Case:
    """One test case."""

    name: str
    """What was checked."""
    message: str
    """Why it failed; empty where it passed."""
    details: str
    """All there is to say of it."""
    is_error: bool = False
    """Whether it could not be checked at all."""


def gate_junit(result: GateResultRecord) -> str:
    """Return a gate's result as JUnit XML: a test case for each check, each metric compared, and missing queries."""
    return junit_xml(result.name, list(_cases(result)), f"{verdict_sentence(result)}\n\n{gate_text(result)}")


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
        every = [f"{flip.query_id}: {flip.before:.3f} → {flip.after:.3f}" for flip in one.flipped]
        details = _lines((sentence, *regression_lines(one), "", "Every query that did worse:", *every))
        yield Case(f"no regression in {mean_title(one.metric)}", "" if one.passed else sentence, details)


def _lines(lines: Sequence[str]) -> str:
    return as_text(lines, wrap=False)


def _text(text: str) -> str:
    return _NO_XML.sub("�", printable(text))
