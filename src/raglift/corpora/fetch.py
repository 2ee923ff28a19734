"""The text of a corpus from its publisher to the cache folder, checked against the labels on the way."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from raglift.corpora.catalogue import Corpus, find_corpus
from raglift.dataset import read_queries
from raglift.dataset.replacing import beside
from raglift.errors import CorpusError, DatasetError
from raglift.faults import Place

if TYPE_CHECKING:
    from pathlib import Path

    from raglift.corpora.descriptor import CorpusText
    from raglift.corpora.download import Progress

__all__ = ["fetch"]

_FAULTS_SHOWN = 5


def fetch(
    corpus: str | Corpus,
    *,
    url: str | None = None,
    timeout: float = 120.0,
    on_progress: Progress | None = None,
) -> Path:
    """Download the text of a corpus, check that its labels resolve in it, and return where it was put.

    Editions of a book differ in header, wrapping and spelling, so the labels judge the text, not a checksum.
    Nothing is written before the whole text has passed.

    Args:
        corpus: the name of a corpus that comes with raglift, or a corpus.
        url: the address to download from, in place of the corpus's own.
        timeout: seconds for each address, retries included.
        on_progress: called with the bytes received so far and the bytes expected (None when unknown).

    Raises:
        CorpusError: the corpus is unknown or has nothing to fetch, or no address gave a text that its labels
            are about; the message says for each address why.
    """
    from raglift.corpora.download import download

    corpus = find_corpus(corpus) if isinstance(corpus, str) else corpus
    text, target = corpus.text_to_fetch()
    reasons = []
    for address in (url,) if url else text.urls:
        try:
            data = download(address, max_bytes=text.max_bytes, timeout=timeout, on_progress=on_progress)
            _check_labels(data, text, corpus)
        except CorpusError as error:
            reasons.append(f"  {address}: {error}")
        else:
            _put(data, target)
            return target
    raise CorpusError(
        f"corpus {corpus.name!r} could not be fetched:\n"
        + "\n".join(reasons)
        + "\nWithout a network: set RAGLIFT_CORPORA "
        f"to a folder that holds {corpus.name}/{text.file}, or give another address with --url"
    )


def _check_labels(data: bytes, text: CorpusText, corpus: Corpus) -> None:
    """Raise unless the bytes are a text in which every label of the corpus resolves."""
    place = Place("the text", [])
    document = text.parse(data, place)
    if document is None:
        raise CorpusError("; ".join(str(fault) for fault in place.faults))
    try:
        read_queries(corpus.queries_path, (document,))
    except DatasetError as error:
        shown = "\n".join(f"    {fault}" for fault in error.faults[:_FAULTS_SHOWN])
        more = len(error.faults) - _FAULTS_SHOWN
        raise CorpusError(
            f"not the text that the labels are about; {len(error.faults)} of them do not resolve:\n{shown}"
            + (f"\n    … and {more} more" if more > 0 else "")
        ) from None


def _put(data: bytes, target: Path) -> None:
    """Write a file whole or not at all."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with beside(target) as temporary:
            written = temporary / "written"
            with written.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            written.replace(target)
    except OSError as error:
        raise CorpusError(
            f"the text cannot be written to {target}: {error}; set RAGLIFT_CACHE to a folder that can"
        ) from error
