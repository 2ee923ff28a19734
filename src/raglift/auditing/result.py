"""The public result of an audit, with its pandas frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from raglift.auditing.records import KINDS, PLACEMENTS, AuditRecord
from raglift.auditing.view import audit_view
from raglift.rendering.presenting import Presentable, view_of, whole

if TYPE_CHECKING:
    import pandas as pd

    from raglift.auditing.records import ChunkingAudit, Finding


view_of.register(AuditRecord, whole(audit_view))


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Presentable, AuditRecord):
    """What is wrong with the labels of a dataset, and what chunking does to them."""

    def to_frame(self) -> pd.DataFrame:
        """Return one row a finding.

        Columns: `query_id`, `where`, `severity` (broken or warning), `kind`, `text`, `detail`, `places` (how many),
        `doc_id`, `start`, `end` (of the first place, or of the nearest), `nearest`, `likeness`.
        """
        return _findings_frame(self)

    def chunkings_to_frame(self) -> pd.DataFrame:
        """Return one row a chunker.

        Columns: `chunker`, `chunks`, `mean_length`, `read_in_part`, one for each of `PLACEMENTS`, `recall@k` and
        `exact@k` for each k, and the same by the other match rule, as `recall@k by containment`.
        """
        return _chunkings_frame(self)


def _findings_frame(audit: AuditRecord) -> pd.DataFrame:
    import pandas as pd

    columns = ("query_id", "where", "severity", "kind", "text", "detail", "places", "doc_id", "start", "end")
    frame = pd.DataFrame(
        [_finding_row(finding) for finding in audit.findings], columns=[*columns, "nearest", "likeness"]
    )
    return frame.astype({"places": "int64", "start": "Int64", "end": "Int64", "likeness": "float64"})


def _finding_row(finding: Finding) -> dict[str, Any]:
    near = finding.nearest
    place = finding.places[0] if finding.places else near.place if near else None
    return {
        "query_id": finding.query_id,
        "where": finding.where,
        "severity": KINDS[finding.kind][0],
        "kind": finding.kind,
        "text": finding.text,
        "detail": finding.detail,
        "places": len(finding.places),
        "doc_id": place.doc_id if place else None,
        "start": place.start if place else None,
        "end": place.end if place else None,
        "nearest": near.text if near else None,
        "likeness": near.likeness if near else None,
    }


def _chunkings_frame(audit: AuditRecord) -> pd.DataFrame:
    import pandas as pd

    columns = ["chunker", "chunks", "mean_length", "read_in_part", *PLACEMENTS]
    beside = "" if audit.match_beside is None else audit.match_beside.mode
    rows = [_chunking_row(chunking, beside) for chunking in audit.chunkings]
    frame = pd.DataFrame(rows) if rows else pd.DataFrame(columns=columns)
    return frame.astype({"read_in_part": "Int64"})


def _chunking_row(chunking: ChunkingAudit, beside: str) -> dict[str, Any]:
    row: dict[str, Any] = {
        "chunker": chunking.name,
        "chunks": chunking.chunks,
        "mean_length": chunking.mean_length,
        "read_in_part": chunking.read_in_part,
    }
    row |= {placement: chunking.count(placement) for placement in PLACEMENTS}
    for attainable in chunking.attainable:
        row |= {f"recall@{attainable.k}": attainable.recall, f"exact@{attainable.k}": attainable.exact}
    for attainable in chunking.attainable_beside:
        row |= {
            f"recall@{attainable.k} by {beside}": attainable.recall,
            f"exact@{attainable.k} by {beside}": attainable.exact,
        }
    return row
