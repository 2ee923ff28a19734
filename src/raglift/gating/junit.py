"""A gate's result as JUnit XML, which every CI system reads."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
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
from raglift.report.terminal.figures import as_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raglift.gating.records import GateResult

__all__ = ["gate_junit"]

_NO_XML = re.compile("[\ufffe\uffff]")
"""What XML 1.0 cannot hold, beside what no terminal should be sent."""
_SUITE = "raglift gate"


def gate_junit(result: GateResult) -> str:
    """Return a gate's result as JUnit XML: a test case for each check, each metric compared, and missing queries."""
    cases = list(_cases(result))
    failures = sum(bool(message) for _, message, _ in cases)
    counts = {"tests": str(len(cases)), "failures": str(failures), "errors": "0", "skipped": "0"}
    root = ET.Element("testsuites", {"name": _SUITE, **counts})
    suite = ET.SubElement(root, "testsuite", {"name": _SUITE, **counts})
    for name, message, details in cases:
        case = ET.SubElement(suite, "testcase", {"classname": _text(f"{_SUITE}.{result.name}"), "name": _text(name)})
        if message:
            failure = ET.SubElement(case, "failure", {"message": _text(message), "type": "gate"})
            failure.text = _text(details)
    ET.SubElement(suite, "system-out").text = _text(f"{verdict_sentence(result)}\n\n{gate_text(result)}")
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _cases(result: GateResult) -> Iterator[tuple[str, str, str]]:
    """Yield the name of each test case, why it failed (empty where it passed), and the details."""
    if result.expected is not None:
        missing = missing_sentence(result)
        yield "no query missing", missing, "\n".join((missing, *result.missing))
    for check in result.checks:
        sentence = check_sentence(check)
        details = _lines((sentence, *check_lines(check)))
        yield f"{check.name} {bound_text(check)}", "" if check.passed else sentence, details
    for one in result.regressions:
        sentence = regression_sentence(one)
        every = [f"{flip.query_id}: {flip.before:.3f} → {flip.after:.3f}" for flip in one.flipped]
        details = _lines((sentence, *regression_lines(one), "", "Every query that did worse:", *every))
        yield f"no regression in {mean_title(one.metric)}", "" if one.passed else sentence, details


def _lines(lines: Sequence[str]) -> str:
    return as_text(lines, wrap=False)


def _text(text: str) -> str:
    return _NO_XML.sub("�", printable(text))
