"""Secrets in the attributes of spans: what is one by its name is hidden wherever it stands in what is kept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from raglift.base.secrets import HIDDEN, KnownSecrets, is_secret_name
from raglift.records.rankings import Hit, Ranking

if TYPE_CHECKING:
    from raglift.records.documents import Chunk
    from raglift.records.sessions import Session


_MOST = 1_000
_DEEPEST = 30
_SURE = re.compile(r"passw|passphrase|secret(?!ar)|api[-_]?key|authorization|credential|bearer", re.IGNORECASE)
"""What is called so is hidden in its place, however short it is."""
_SPECIAL_TOKEN = re.compile(r"(?:pad|bos|eos|unk|cls|sep|mask|stop|special|image)_?tokens?$", re.IGNORECASE)
_SOME_KEY = re.compile(r"keys?$", re.IGNORECASE)
_KEY_TO_A_SERVICE = re.compile(
    r"(?:api|access|secret|private|subscription|auth|account|admin|master|service|client|signing)[-_]?keys?$",
    re.IGNORECASE,
)
_KEY_TO_A_FIELD = re.compile(
    r"(?:primary|foreign|partition|sort|cache|doc|text|metadata|content|id|vector|input|output|memory|index|group)"
    r"[-_]?keys?$",
    re.IGNORECASE,
)
_TURN = re.compile("[A-Za-z][0-9]|[0-9][A-Za-z]|[a-z][A-Z]")
_LEAST_TURNS = 3
"""How often letters, capitals and digits take turns in a secret that is called no more than `key`."""
_is_secret_name = lru_cache(maxsize=10_000)(is_secret_name)


class FoundSecrets:
    """The secrets that attributes of spans hold, by their names."""

    def __init__(self) -> None:
        self.values: set[str] = set()
        """What was found so far."""

    def look_at(self, name: str, value: Any) -> None:
        """Note what an attribute holds that is secret by its name, or by a name inside it.

        Args:
            name: of the attribute; what follows its last dot counts.
            value: what it holds.
        """
        waiting = [(0, name.rpartition(".")[2], value)]
        while waiting and len(self.values) < _MOST:
            depth, called, each = waiting.pop()
            if isinstance(each, str):
                if _is_secret_name(called):
                    self.values.update(_secrets_in(called, each))
            elif isinstance(each, Mapping) and depth < _DEEPEST:
                waiting += [(depth + 1, str(inner), inside) for inner, inside in each.items()]
            elif isinstance(each, (list, tuple)) and depth < _DEEPEST:
                waiting += [(depth + 1, called, inside) for inside in each]

    def known(self) -> KnownSecrets:
        """Return what hides them in texts."""
        return KnownSecrets(self.values)


def without_named(value: Any, depth: int = 0) -> Any:
    """Return a value of JSON with `***` for each text in it that is secret by its name.

    Args:
        value: an object, a list or a plain value.
        depth: how deep it lies; what lies too deep is left out.
    """
    if depth > _DEEPEST:
        return None
    if isinstance(value, Mapping):
        return {str(name): _hidden(str(name), inner, depth) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_named(inner, depth + 1) for inner in value]
    return value


def _hidden(name: str, value: Any, depth: int) -> Any:
    if isinstance(value, str) and _is_secret_name(name):
        return HIDDEN if _SURE.search(name) or _secrets_in(name, value) else value
    return without_named(value, depth + 1)


def _secrets_in(name: str, value: str) -> frozenset[str]:
    """Return what is secret in the value of a secret name: a `key` of a document is often the name of a field."""
    if _SPECIAL_TOKEN.search(name):
        return frozenset()
    is_some_key = _SOME_KEY.search(name) is not None and _KEY_TO_A_SERVICE.search(name) is None
    if is_some_key and (_KEY_TO_A_FIELD.search(name) or len(_TURN.findall(value)) < _LEAST_TURNS):
        return frozenset()
    return KnownSecrets([value], distinctive=True).values


def cleared(value: Any, known: KnownSecrets) -> Any:
    """Return a value of JSON whose texts have no secret in them.

    Args:
        value: an object, a list or a plain value.
        known: the secrets.
    """
    if isinstance(value, str):
        return known.cleared(value)
    if isinstance(value, Mapping):
        return {name: cleared(inner, known) for name, inner in value.items()}
    if isinstance(value, list):
        return [cleared(inner, known) for inner in value]
    return value


def cleared_session(session: Session, known: KnownSecrets) -> Session:
    """Return a session without secrets in its texts, arguments and metadata.

    Args:
        session: the session.
        known: the secrets that were found in its spans.
    """

    def text(value: str) -> str:
        return known.cleared(value)

    def ranking(found: Ranking) -> Ranking:
        return Ranking(tuple(Hit(_cleared_chunk(hit.chunk, known), hit.rank, hit.score) for hit in found.hits))

    calls = tuple(
        replace(
            call,
            query=text(call.query),
            tool=text(call.tool),
            arguments=cleared(without_named(call.arguments), known),
            error=None if call.error is None else text(call.error),
            stages=tuple(replace(stage, ranking=ranking(stage.ranking)) for stage in call.stages),
        )
        for call in session.calls
    )
    context = ranking(session.context) if isinstance(session.context, Ranking) else None
    return replace(session, calls=calls, context=context, error=None if session.error is None else text(session.error))


def _cleared_chunk(chunk: Chunk, known: KnownSecrets) -> Chunk:
    metadata = cleared(without_named(chunk.metadata), known)
    text, name = known.cleared(chunk.text), known.cleared(chunk.id)
    doc_id = None if chunk.doc_id is None else known.cleared(chunk.doc_id)
    if (text, name, doc_id, metadata) == (chunk.text, chunk.id, chunk.doc_id, chunk.metadata):
        return chunk
    if text != chunk.text:  # its offsets are those of another text
        return replace(chunk, text=text, id=name, doc_id=doc_id, metadata=metadata, start=None, end=None)
    return replace(chunk, id=name, doc_id=doc_id, metadata=metadata)
