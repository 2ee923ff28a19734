"""What an export wrote, and what is to be known of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from raglift.printable import printable

if TYPE_CHECKING:
    from pathlib import Path

    from raglift.records import LabelSources
    from raglift.run_files.exporting.differences import Difference
    from raglift.run_files.forms import Form

__all__ = ["Export", "ExportedFile"]


@dataclass(frozen=True)
class ExportedFile:
    """A file of an export."""

    name: str
    holds: str
    """What is in it: `1,200 hits of 30 queries after rerank, with its own scores`."""
    entries: int
    """How many hits, labels, or pairs of a fact and an id."""
    lines: int
    """How many lines it has, in Parquet rows."""


@dataclass(frozen=True, repr=False)
class Export:
    """What an export wrote; its text says what other tools will count differently."""

    folder: Path
    form: Form
    dataset: str
    """The name of the dataset."""
    files: tuple[ExportedFile, ...]
    queries: int
    """How many labelled queries there are."""
    differing: tuple[str, ...]
    """For which of them other tools compute other values."""
    differences: tuple[Difference, ...]
    """Why they do."""
    notes: tuple[str, ...]
    """What else to know before figures of other tools are compared with raglift's."""
    label_sources: LabelSources
    """Who gave the labels."""

    @property
    def agreement(self) -> str:
        """One sentence: for how many queries other tools compute the same values, and why not for all."""
        same = self.queries - len(self.differing)
        values = "raglift's default values of HitRate, Precision, Recall, F1, RR, AP and NDCG"
        if not self.differing:
            return f"Other tools compute {values} for all {self.queries:,} labelled queries."
        reasons = "".join(f"\n  {difference}" for difference in self.differences)
        return f"Other tools compute {values} for {same:,} of {self.queries:,} labelled queries:{reasons}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "dataset": self.dataset,
            "folder": str(self.folder),
            "format": self.form,
            "files": [vars(file) for file in self.files],
            "labelled_queries": self.queries,
            "differing_queries": list(self.differing),
            "differences": [
                {"reason": each.reason, "count": each.count, "queries": list(each.query_ids)}
                for each in self.differences
            ],
            "notes": list(self.notes),
            **({"labels": self.label_sources.to_dict()} if self.label_sources.by_model else {}),
        }

    def __repr__(self) -> str:
        return f"Export({str(self.folder)!r}, {len(self.files)} files; print() shows them)"

    def __str__(self) -> str:
        width = max(len(file.name) for file in self.files)
        lines = [f"wrote to {self.folder}", *(f"  {file.name:{width}}  {file.holds}" for file in self.files)]
        lines += [self.agreement, *self.notes, str(self.label_sources)]
        return printable("\n".join(filter(None, lines)))
