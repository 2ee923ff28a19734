"""Turns LangChain documents into chunks and back, so that a chunk keeps its identity in any compressor."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from raglift.adapters.asking import document_id, excerpt
from raglift.adapters.base import finite
from raglift.adapters.functions import chunk_and_score
from raglift.errors import ConfigurationError, UnsupportedSystem
from raglift.types.documents import Chunk
from raglift.types.rankings import Ranking

if TYPE_CHECKING:
    from langchain_core.documents import Document


_MARK = "_raglift_chunk"
"""Metadata key of a document's position in the candidate list through a compressor."""
_DOC_KEYS = ("doc_id", "document_id", "source", "file_name")
_SCORE_KEYS = ("relevance_score", "query_similarity_score", "score")


def chunk_of(document: Document, doc_key: str | None = None) -> Chunk:
    """Return the chunk that a LangChain document is.

    Args:
        document: the document; it becomes the chunk's `origin`.
        doc_key: the metadata key that names the source document; None takes the first that is set of
            `doc_id`, `document_id`, `source` and `file_name`.
    """
    metadata = dict(document.metadata)
    start = metadata.get("start_index")
    if not isinstance(start, int) or isinstance(start, bool) or start < 0:  # LangChain writes -1 for unknown
        start = None
    return Chunk(
        text=document.page_content,
        id=_id_of(document),
        doc_id=document_id(metadata, doc_key, _DOC_KEYS),
        start=start,
        end=None if start is None else start + len(document.page_content),
        metadata=metadata,
        origin=document,
    )


def _id_of(document: Document) -> str:
    """Return the id of a document, or the one that its store noted in the metadata; else none."""
    if document.id:
        return document.id
    noted = document.metadata.get("_id")  # Qdrant's store tells a point's id nowhere else
    return str(noted) if isinstance(noted, str | int) and not isinstance(noted, bool) else ""


def document_of(chunk: Chunk) -> Document:
    """Return a LangChain document for a chunk: a copy of the one it came from, or else a new one."""
    from langchain_core.documents import Document

    if not isinstance(chunk.origin, Document):
        place = {"doc_id": chunk.doc_id, "start_index": chunk.start}
        metadata = {key: value for key, value in place.items() if value is not None} | dict(chunk.metadata)
        return Document(page_content=chunk.text, metadata=metadata, id=chunk.id)
    update: dict[str, Any] = {"metadata": dict(chunk.origin.metadata)}
    if isinstance(getattr(chunk.origin, "state", None), dict):  # the embedding filters cache vectors there
        update["state"] = dict(chunk.origin.state)  # type: ignore[attr-defined]
    return chunk.origin.model_copy(update=update)


def documents_in(result: Any, who: str) -> list[Document]:
    """Return what a retriever or compressor gave as documents; plain strings become documents.

    Args:
        result: what it returned.
        who: its name, for the message.

    Raises:
        UnsupportedSystem: it is not a list of documents or strings.
    """
    from langchain_core.documents import Document

    if not isinstance(result, Sequence) or isinstance(result, str | bytes):
        found = type(result).__name__
    elif strange := [item for item in result if not isinstance(item, Document | str)]:
        found = f"{type(result).__name__} with {type(strange[0]).__name__} in it"
    else:
        return [Document(page_content=item) if isinstance(item, str) else item for item in result]
    raise UnsupportedSystem(
        f"{who}: returned {found}; expected a list of LangChain documents or strings; "
        "a chain must end where its documents are, before a prompt or a model takes them"
    )


def noted_score(document: Document) -> float | None:
    """Return the score that a retriever noted in a document's metadata, if any."""
    scores = (finite(document.metadata.get(key)) for key in ("relevance_score", "score"))
    return next((score for score in scores if score is not None), None)


def scored_documents(results: Any, who: str, doc_key: str | None) -> list[tuple[Chunk, float | None]]:
    """Return results as chunks with scores: documents and texts, also with scores, or mappings with a text.

    Args:
        results: what a retriever, chain or tool gave.
        who: its name, for the message.
        doc_key: as in `chunk_of`.

    Raises:
        UnsupportedSystem: they are none of these.
    """
    from langchain_core.documents import Document

    if isinstance(results, list | tuple) and not all(isinstance(each, Document | str) for each in results):
        try:
            return [chunk_and_score(each, doc_key) for each in results]
        except ConfigurationError:
            pass  # the message below says what a Runnable should return
    return [(chunk_of(each, doc_key), noted_score(each)) for each in documents_in(results, who)]


def _new_scores(documents: Sequence[Document], before: Sequence[Mapping[str, Any]]) -> list[float | None]:
    """Return the score that a compressor noted on each document, None if it noted none.

    Under a key that it set anew on one document, all have its scores: an earlier compressor may have come to the
    same number for some.
    """
    after = [_carried(document) for document in documents]
    scores = [[finite(carried.get(key)) for key in _SCORE_KEYS] for carried in after]
    earlier = [[finite(carried.get(key)) for key in _SCORE_KEYS] for carried in before]
    noted = [
        at
        for at in range(len(_SCORE_KEYS))
        if any(now[at] is not None and now[at] != then[at] for now, then in zip(scores, earlier, strict=True))
    ]
    return [next((row[at] for at in noted if row[at] is not None), None) for row in scores]


def _carried(document: Document) -> dict[str, Any]:
    """The metadata of a document without our mark, and the state that embedding filters keep next to it."""
    state = getattr(document, "state", None)
    carried = document.metadata | state if isinstance(state, dict) else dict(document.metadata)
    carried.pop(_MARK, None)
    return carried


class Candidates:
    """The hits of one ranking as marked documents, and the way back to their chunks."""

    def __init__(self, ranking: Ranking, doc_key: str | None = None) -> None:
        self._doc_key = doc_key
        self._chunks = ranking.chunks
        self.documents = [document_of(chunk) for chunk in self._chunks]
        """What to hand to the compressor; it may change them."""
        self._before = [_carried(document) for document in self.documents]
        self._places: dict[str, list[int]] = defaultdict(list)
        for place, document in enumerate(self.documents):
            self._places[document.page_content].append(place)
            document.metadata[_MARK] = str(place)

    def ranking(self, outputs: Sequence[Document]) -> Ranking:
        """Return what the compressor made of the candidates, in its order.

        - A candidate whose text is unchanged is the same chunk, with its id, offsets and document.
        - A candidate whose text was changed keeps id and document, and has offsets only where the new text is in the
          old one, once; if the compressor made several pieces of it, the further ones get ids of their own.
        - Anything else is a new chunk.
        """
        placed = self._placed(outputs)
        claimed = {place for place, document in placed if place is not None and self._intact(place, document)}
        scored = []
        scores = _new_scores(outputs, [{} if place is None else self._before[place] for place, _ in placed])
        for (place, document), score in zip(placed, scores, strict=True):
            if place is None:
                scored.append((chunk_of(_unmarked(document), self._doc_key), score))
                continue
            first = place not in claimed
            claimed.add(place)
            scored.append((self._chunk(place, document, first=first), score))
        return Ranking.of(scored)

    def _placed(self, outputs: Sequence[Document]) -> list[tuple[int | None, Document]]:
        """Find the candidate of each output: by its mark or, where metadata was dropped, by its text."""
        marks = {str(place): place for place in range(len(self._chunks))}
        places = [marks.get(str(document.metadata.get(_MARK))) for document in outputs]
        taken = set(places)
        free = {text: [at for at in ats if at not in taken] for text, ats in self._places.items()}
        placed = []
        for place, document in zip(places, outputs, strict=True):
            same_text = free.get(document.page_content)
            placed.append((same_text.pop(0) if place is None and same_text else place, document))
        return placed

    def _intact(self, place: int, document: Document) -> bool:
        return document.page_content == self._chunks[place].text

    def _chunk(self, place: int, document: Document, *, first: bool) -> Chunk:
        chunk = self._chunks[place]
        clean = _unmarked(document)
        if self._intact(place, document):
            if _same(_carried(clean), self._before[place]):
                return chunk
            # the next compressor finds what this one noted on the document, as it would inside LangChain
            return dataclasses.replace(chunk, origin=clean)
        changed = excerpt(chunk, document.page_content, dict(clean.metadata), clean)
        return changed if first else dataclasses.replace(changed, id="")


def _unmarked(document: Document) -> Document:
    metadata = {key: value for key, value in document.metadata.items() if key != _MARK}
    return document.model_copy(update={"metadata": metadata})


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    try:
        return one == other
    except ValueError:  # an array among the values cannot say whether it is equal
        return False
