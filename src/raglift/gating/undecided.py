"""A gate that decided nothing: its files say so, and not what they said of an earlier run."""

from __future__ import annotations

from dataclasses import dataclass

from raglift.gating.annotations import annotation
from raglift.gating.junit import Case, junit_xml
from raglift.rendering.document import Document, table_of
from raglift.rendering.markdown import markdown_of

__all__ = ["Undecided"]


@dataclass(frozen=True)
class Undecided:
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
        return markdown_of(Document(f"❌ {self}", self.reason, table_of((), ()), ()))

    def to_junit(self) -> str:
        """Return JUnit XML with one test case, which could not be run."""
        return junit_xml(self.name, [Case("the gate", self.reason, self.reason, is_error=True)], str(self))

    def to_github(self) -> str:
        """Return GitHub's workflow command `::error`."""
        return annotation("not decided", self.name, self.reason)
