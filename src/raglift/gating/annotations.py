"""A gate's result as GitHub's workflow commands."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from raglift.gating.text import check_lines
from raglift.gating.words import check_sentence, missing_sentence, regression_sentence
from raglift.metrics import mean_title
from raglift.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.gating.records import GateResultRecord

__all__ = ["annotation", "gate_annotations", "without_commands"]

_MOST = 10
"""GitHub shows no more errors of a step."""
_FLIPPED = 5


def gate_annotations(result: GateResultRecord) -> str:
    """Return a line `::error title=…::…` for each check that failed; empty where all passed."""
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
            flipped = [f"{flip.query_id}: {flip.before:.3f} → {flip.after:.3f}" for flip in one.flipped[:_FLIPPED]]
            yield mean_title(one.metric), "\n".join((regression_sentence(one), *flipped))


def _data(text: str) -> str:
    """Escape a message, as GitHub's own toolkit does."""
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Escape a property, as GitHub's own toolkit does."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
