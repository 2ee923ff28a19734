"""What is asked for when spans are read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from raglift.tracing.secrets import FoundSecrets

if TYPE_CHECKING:
    from raglift.tracing.decoding.rows import SpanColumns


@dataclass(frozen=True)
class Options:
    """How spans are read."""

    join_by: str | None = None
    """The attribute, field of the metadata, or tag that holds the id of a labelled query."""
    doc_key: str | None = None
    """The key of a hit's metadata that holds the id of its document."""
    columns: SpanColumns | None = None
    """For rows of a tool's own export, in which column each part of a span is."""
    secrets: FoundSecrets = field(default_factory=FoundSecrets)
    """What the attributes hold that is secret."""
