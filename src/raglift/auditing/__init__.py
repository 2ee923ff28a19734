"""Whether labels can measure what they should, and what chunking does to them."""

from raglift.auditing.dataset_audit import audit
from raglift.auditing.records import KINDS, PLACEMENTS, Attainable, ChunkingAudit, Finding, Nearest, Place
from raglift.auditing.relabelling import Left, Relabelling, relabel
from raglift.auditing.result import Audit
from raglift.auditing.terminal import print_audit

__all__ = [
    "KINDS",
    "PLACEMENTS",
    "Attainable",
    "Audit",
    "ChunkingAudit",
    "Finding",
    "Left",
    "Nearest",
    "Place",
    "Relabelling",
    "audit",
    "print_audit",
    "relabel",
]
