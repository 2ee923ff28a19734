"""What do 1,000,000 chunks take, in time and memory, against 100,000: split, embedded, indexed, evaluated?

The chunks are those of War and Peace, whose labels are asked, of the documentation and docstrings of the installed
packages whose licence allows it, and then of their source: read where they are installed, written nowhere but in files
that end with the process. Each is distinct and has at least 200 characters. Vectors are those of the static model that
comes with raglift. Each size is measured in processes of its own: one with an empty cache, and one with the vectors of
the first. Memory is the most that a process held, pages of mapped files included (VmHWM of Linux).

    RAGLIFT_CORPORA=FOLDER python benchmarks/size.py [--sizes 100000 1000000] [--index INDEX]
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from package_texts import LEAST, package_code, package_texts

import raglift as rl
from raglift.adapters.embeddings import embedder_by_name
from raglift.base.cache import Cache
from raglift.components import DenseRetriever, RecursiveChunker, approximate, build_index

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CHUNKER = RecursiveChunker(400, 0)
CORPUS = "war_and_peace"
DEPTH = 50
EMBEDDING = "minilm-static"
PLANNED = 10_000_000
"""For so many chunks the figures are extrapolated."""
STEPS = {"read": "read texts", "embed": "split, embed, index", "evaluate": "search, match, score", "all": "all"}


# What is measured, in a process of its own.


def documents_for(chunks: int, book: rl.Dataset) -> Iterator[rl.Document]:
    """Yield the book and the texts of packages, until they have so many distinct chunks."""
    seen: set[int] = set()
    texts = (text for source in (package_texts, package_code) for text in source())
    packages = (rl.Document(f"package {number}", text) for number, text in enumerate(texts))
    for document in (document for source in (book.documents, packages) for document in source):
        if len(seen) >= chunks:
            return
        seen.update(hash(chunk.text) for chunk in CHUNKER.split([document]) if len(chunk.text) >= LEAST)
        yield document


def distinct_chunks(documents: Sequence[rl.Document], most: int) -> Iterator[rl.Chunk]:
    """Yield the first chunks of documents, each text once."""
    seen: set[int] = set()
    for document in documents:
        for chunk in CHUNKER.split([document]):
            if len(chunk.text) >= LEAST and hash(chunk.text) not in seen:
                seen.add(hash(chunk.text))
                yield chunk
                if len(seen) >= most:
                    return


def measured(chunks: int, index: str | None, cache: Path) -> dict[str, Any]:
    """Return the seconds of each step, the most memory up to its end, and what was found."""
    embedder = embedder_by_name(EMBEDDING)
    embedder.embed(["loads the model"], "document")
    book = rl.load_dataset(CORPUS)
    marks = [mark()]
    dataset = rl.Dataset(book.queries, tuple(documents_for(chunks, book)), book.name)
    marks.append(mark())
    kept = Cache(cache)
    dense = build_index(distinct_chunks(dataset.documents, chunks), embedder, cache=kept, progress=False)
    searched = dense if index is None else approximate(dense, index)
    marks.append(mark())
    evaluation = rl.evaluate(
        DenseRetriever(searched), dataset, match="coverage", metrics=(f"recall@{DEPTH}",), progress=False
    )
    marks.append(mark())
    kept.close()  # so that all of it is in the one file
    steps = [*zip(STEPS, itertools.pairwise(marks), strict=False), ("all", (marks[0], marks[-1]))]
    return {
        "seconds": {name: after["seconds"] - before["seconds"] for name, (before, after) in steps},
        "peak": {name: after["peak"] for name, (_, after) in steps},
        "at_first": marks[0]["peak"],
        "mapped": marks[-1]["mapped"],
        "chunks": len(dense.chunks),
        "characters": sum(len(document.text) for document in dataset.documents),
        "computed": dense.computed,
        "cache": cache.stat().st_size / 1e6,
        "recall": evaluation.scores.mean(evaluation.after, f"recall@{DEPTH}"),
        "known": None if evaluation.run.inventory is None else len(evaluation.run.inventory.touching),
    }


def mark() -> dict[str, float]:
    """Return the time, the most memory that this process has held so far and what of it is mapped now, in MB."""
    status = Path("/proc/self/status").read_text()
    peak, mapped = (
        int(found[1]) / 1024 if (found := re.search(rf"{name}:\s+(\d+) kB", status)) else float("nan")
        for name in ("VmHWM", "RssFile")
    )
    return {"seconds": time.perf_counter(), "peak": peak, "mapped": mapped}


# The table.


def in_a_process(chunks: int, index: str | None, cache: Path) -> dict[str, Any]:
    """Return what a process of its own measured."""
    command = [sys.executable, __file__, "--sizes", str(chunks), "--measure", str(cache)]
    command += [] if index is None else ["--index", index]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603 — this file
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def report(found: Sequence[dict[str, Any]], title: str) -> None:
    """Print the seconds and the memory of each size, and how they grow with the chunks."""
    sizes = [each["chunks"] for each in found]
    say(f"\n{title:34}" + "".join(f"{size:>14,}" for size in sizes) + f"{'growth':>10}{f'at {PLANNED:,}':>18}")
    for name, words in STEPS.items():
        line([each["seconds"][name] for each in found], sizes, f"{words}, s")
    line([each["peak"]["all"] for each in found], sizes, "memory at its peak, MB")
    line([each["peak"]["all"] - each["at_first"] for each in found], sizes, "  beyond libraries and model, MB")
    line([each["mapped"] for each in found], sizes, "  of it mapped files at the end, MB")
    line([each["cache"] for each in found], sizes, "cache, MB")
    say("".join(f"recall@{DEPTH} {each['recall']:.3f} of {each['chunks']:,}  " for each in found))


def line(figures: Sequence[float], sizes: Sequence[int], words: str) -> None:
    """Print a figure of each size, how it grows from the first to the last, and where that leads in a straight line."""
    shown = "".join(f"{figure:14,.1f}" if figure < 100 else f"{figure:14,.0f}" for figure in figures)
    if len(sizes) > 1 and figures[0] > 0:
        slope = (figures[-1] - figures[0]) / (sizes[-1] - sizes[0])
        shown += f"{figures[-1] / figures[0]:>9.1f}x{figures[-1] + slope * (PLANNED - sizes[-1]):18,.0f}"
    say(f"  {words:32}{shown}")


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--index", help="an index beside exact search, as 'ivf(nlist=4096,nprobe=32)'")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.measure is not None:
        say(json.dumps(measured(asked.sizes[0], asked.index, asked.measure)))
        return
    embedder_by_name(EMBEDDING).embed(["makes the model, once on this machine"], "document")
    with tempfile.TemporaryDirectory() as folder:
        ways = {"with an empty cache": [], "with the vectors in the cache": []}
        for size in sorted(asked.sizes):
            for found in ways.values():
                found.append(in_a_process(size, asked.index, Path(folder) / f"{size}.sqlite"))
            say(f"{size:,} chunks: {ways['with an empty cache'][-1]['characters'] / 1e6:.0f} million characters")
        for title, found in ways.items():
            report(found, title)


if __name__ == "__main__":
    main()
