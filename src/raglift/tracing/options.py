"""What is asked for when spans are read."""

from __future__ import annotations

from dataclasses import dataclass, field

from raglift.tracing.secrets import FoundSecrets


@dataclass(frozen=True)
class Options:
    """How spans are read."""

    join_by: str | None = None
    """The attribute, field of the metadata, or tag that holds the id of a labelled query."""
    doc_key: str | None = None
    """The key of a hit's metadata that holds the id of its document."""
    secrets: FoundSecrets = field(default_factory=FoundSecrets)
    """What the attributes hold that is secret."""
