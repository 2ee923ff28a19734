"""How long it takes to find which of very many chunks touch very many labels, and in how much memory.

The texts are real ones, repeated until they are long enough; in each copy a word in a hundred is replaced by one that
names the copy, so that no two copies are the same. Labels are spans of them, given as literal texts. Run it as

    python benchmarks/audit_scale.py TEXT [TEXT …] --labels 10000 --chunks 1000000
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from raglift.auditing.dataset_audit import audit
from raglift.matching.chunk_index import Touches, touching_chunks
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Fact, Passage, Query

if TYPE_CHECKING:
    from collections.abc import Callable

CHUNK, OVERLAP = 1000, 100
LABEL = (50, 400)
_LINES = 18
Made = TypeVar("Made")


def main() -> None:
    """Build the texts, take the times, print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--labels", type=int, default=10_000)
    parser.add_argument("--chunks", type=int, default=100_000)
    asked = parser.parse_args()
    words = [path.read_text(encoding="utf-8").split(" ") for path in asked.texts]
    documents = copies(words, asked.chunks * (CHUNK - OVERLAP))
    chunks = cut(documents, asked.chunks)
    queries = labels(documents, asked.labels)
    size = sum(len(document.text) for document in documents) / 1e6
    say(f"{len(queries):,} labels, {len(chunks):,} chunks, {len(documents):,} documents of {size:,.0f} MB; {memory()}")
    foreign = [Chunk(chunk.text, id=chunk.id) for chunk in chunks]
    count("by place", partial(touching_chunks, queries, chunks, documents))
    count("by place and text", partial(touching_chunks, queries, chunks, documents, also_by_text=True))
    count("by text alone", partial(touching_chunks, queries, foreign, ()))
    dataset = Dataset(tuple(queries), tuple(documents))
    audited = timed("the whole audit but for tokens", partial(audit, dataset, chunks=chunks, embedding=None))
    say("\n".join(str(audited).splitlines()[-_LINES:]))


def copies(texts: list[list[str]], wanted: int) -> list[Document]:
    """Return edited copies of the texts, together as long as wanted."""
    random_ = random.Random(0)  # noqa: S311
    documents: list[Document] = []
    length = 0
    while length < wanted:
        number = len(documents)
        words = list(texts[number % len(texts)])
        for place in random_.sample(range(len(words)), len(words) // 100):
            words[place] = f"copy{number}"
        documents.append(Document(f"copy {number}", " ".join(words)))
        length += len(documents[-1].text)
    return documents


def cut(documents: list[Document], wanted: int) -> list[Chunk]:
    """Return chunks of one size with an overlap."""
    spans = ((document, start) for document in documents for start in range(0, len(document.text), CHUNK - OVERLAP))
    chunks = []
    for document, start in spans:
        text = document.text[start : start + CHUNK]
        end = start + len(text)
        chunks.append(Chunk(text, id=f"{document.id}:{start}", doc_id=document.id, start=start, end=end))
        if len(chunks) == wanted:
            break
    return chunks


def labels(documents: list[Document], wanted: int) -> list[Query]:
    """Return queries of one fact each: a literal text from somewhere in the documents."""
    random_ = random.Random(1)  # noqa: S311
    queries = []
    for number in range(wanted):
        text = random_.choice(documents).text
        start = random_.randrange(len(text) - LABEL[1])
        passage = Passage(text[start : start + random_.randint(*LABEL)])
        queries.append(Query(str(number), "?", (Fact((passage,)),)))
    return queries


def count(name: str, work: Callable[[], Touches]) -> None:
    """Time a search for touching chunks."""
    touches = timed(name, work)
    say(f"  {len(touches.chunk):,} touches")


def timed(name: str, work: Callable[[], Made]) -> Made:
    """Run something, print how long it took, and return what it made."""
    begin, processor = time.perf_counter(), time.process_time()
    made = work()
    seconds, processor = time.perf_counter() - begin, time.process_time() - processor
    say(f"{name}: {seconds:.1f} s, of processor time {processor:.1f} s; {memory()}")
    return made


def memory() -> str:
    """Return the most memory that was held so far."""
    return f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB held"


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
