"""What the parts of RAG do on open text: retrievers, rerankers and chunk sizes over many corpora, by one set of rules.

Each corpus is swept over BM25, bge-small, MiniLM, and the hybrid of BM25 and bge-small, each without a reranker, with
the cross-encoder and with late interaction, in chunks of 400, 1,000 and 2,000 characters. All of it, a corpus, a cell:

    python -m benchmarks.board
    python -m benchmarks.board --corpus shop_support
    python -m benchmarks.board --corpus FOLDER --retriever bm25 --reranker cross-encoder --size 1000

A corpus is one of those that `--help` lists, or any dataset with documents that `rl.load_dataset` reads. SciFact, XQuAD
and Chroma's texts are in `$RAGLIFT_CORPORA` (`languages.py` and `chunking_evaluation.py` beside this file say how);
`raglift corpus fetch war_and_peace` gets the book. The same command continues a run that was stopped. The folder
`--output` has a file for each cell, and `cells` and `effects` of all as CSV and Parquet, and `board.md`. `--published`
prints what Anserini and MTEB publish beside what is measured here. docs/reference/board.md has figures.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

import raglift as rl
from benchmarks import chunking_evaluation, languages
from raglift.analysis import effects_of_factors
from raglift.errors import ConfigurationError, RagliftError
from raglift.metrics import NDCG, RecallArea, tokens
from raglift.retrieval.analyzers import language_of
from raglift.types import Fact, Passage, Query
from raglift.utilities.replacing import replacing_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

RETRIEVERS = {
    "bm25": {"retriever": "bm25"},
    "bge-small": {"retriever": "dense", "embedding": "bge-small"},
    "minilm": {"retriever": "dense", "embedding": "minilm"},
    "hybrid": {"retriever": "hybrid", "embedding": "bge-small"},
}
RERANKERS = ("none", "cross-encoder", "late-interaction")
LEVELS = {"size": (400, 1000, 2000), "retriever": tuple(RETRIEVERS), "reranker": RERANKERS}
WHOLE = "whole"
"""The size of chunks that are documents."""
CHARACTERS = 16_000
"""Of candidates for a reranker at any chunk size, about: twice what a prompt of 2,000 tokens holds."""
FEWEST, OF_WHOLE = 12, 20
"""The fewest candidates, and those of whole documents."""
AREA, NDCG10 = RecallArea @ tokens(2000), NDCG @ 10
MARKS = {"better": "**", "worse": "**", "too skewed to decide": "*"}
"""Around differences on the page: bold if significant, italic if too skewed."""
METRICS = (str(AREA), "prompt_recall@tokens(2000)", str(NDCG10), "context_tokens@10")
TIMED = 5
"""Questions whose seconds are measured in each cell of shop_support and of corpora that are not listed: on the others
the same models read as many texts of the same length."""
FOLDER = Path(os.environ.get("RAGLIFT_CORPORA", Path(__file__).parents[1] / ".." / "shared" / "corpora"))
LANGUAGES = ("xquad.en", "xquad.zh", "xquad.th", "scifact")
TEXTS = tuple(f"chroma.{text}" for text in ("chatlogs", "state_of_the_union", "wikitexts", "pubmed", "finance"))
CORPORA = ("lighthouse", "shop_support", *LANGUAGES[:3], *TEXTS, "scifact", "war_and_peace")
"""In the order of what they cost."""
TOLERANCES = {languages.ANSERINI: 0.002, languages.DENSE: 0.0005, languages.BGE: 0.005}
"""How far NDCG and MAP may be from published figures; bge-small computes in 8-bit integers here. Recall: 0.005."""


# The corpora, as datasets of raglift.


def corpus(name: str) -> rl.Dataset:
    """Return the questions and documents of a corpus by its name, or of a dataset by its path."""
    if name in (*LANGUAGES, *TEXTS) and not FOLDER.is_dir():
        raise ConfigurationError(
            f"found no folder {FOLDER}; expected its texts there, or in that of RAGLIFT_CORPORA; languages.py and "
            "chunking_evaluation.py beside this file say where to get them"
        )
    if name in LANGUAGES:
        return of_whole_documents(collection(name))
    if name in TEXTS:
        text = name.removeprefix("chroma.")
        found = chunking_evaluation.read_questions(FOLDER / "chunking_evaluation")
        queries = tuple(query for query in found if query.facts[0].passages[0].doc_id == text)
        return rl.Dataset(queries, (found.document_by_id[text],), name)
    found = rl.load_dataset(name)
    if not found.documents:
        raise ConfigurationError(f"{name}: found no documents; expected a dataset with labels and documents")
    return found


def collection(name: str) -> languages.Collection:
    """Return SciFact or a language of XQuAD."""
    return languages.scifact(FOLDER / name) if name == "scifact" else languages.xquad(FOLDER / "xquad" / f"{name}.json")


def of_whole_documents(found: languages.Collection) -> rl.Dataset:
    """Return a collection whose labels are whole documents, as a dataset."""
    passages = {name: Passage(text, name, 0, len(text)) for name, text in found.documents.items()}
    queries = [
        Query(query, text, tuple(Fact((passages[document],)) for document in found.relevant[query]))
        for query, text in found.queries.items()
    ]
    return rl.Dataset(tuple(queries), tuple(map(rl.Document, found.documents, found.documents.values())), found.name)


def sizes_of(dataset: rl.Dataset, sizes: Sequence[int]) -> list[int | str]:
    """Return the sizes that split at least half of the text; whole documents if these are what labels name."""
    lengths = {document.id: len(document.text) for document in dataset.documents}
    passages = [passage for query in dataset for fact in query.facts for passage in fact.passages]
    whole = sum(passage.text is not None and len(passage.text) == lengths.get(passage.doc_id) for passage in passages)
    total = sum(lengths.values())
    longer = [size for size in sizes if 2 * sum(n for n in lengths.values() if n > size) >= total]
    return [WHOLE] if 2 * whole > len(passages) or not longer else list(longer)


# What is measured.


def measure(name: str, asked: argparse.Namespace) -> None:
    """Measure the cells of a corpus, and write their files; compare them if no part is left out."""
    full = corpus(name)
    labelled = full.only(ids=[query.id for query in full if query.is_labelled])
    dataset = labelled.sample(min(asked.questions, len(labelled)))
    title = name if name in CORPORA else Path(name).resolve().name
    say(f"{title}: {len(dataset)} of {len(labelled):,} questions, {len(full.documents):,} documents")
    found, parts = {}, {}
    for size in sizes_of(full, asked.size):
        latency = TIMED if name == "shop_support" or name not in CORPORA else 0
        swept = sweep_of(dataset, size, asked, latency)
        result = swept.run(asked.output / title / f"{size}-{len(dataset)}-{swept.hash}", resume=True, progress=False)
        for failed in result.failed:
            say(f"  {failed.cell.name}: {failed.error}")
        for one in result.finished:
            cell = one.cell.to_dict()
            retriever = cell["embedding"] if cell["retriever"] == "dense" else cell["retriever"]
            names = {"size": str(size), "retriever": retriever, "reranker": cell["reranker"]}
            key = "-".join(names.values())
            found[key], parts[key] = one.evaluation, names
            row = {"corpus": title, **names, "questions": len(dataset), "of": len(labelled)} | figures(one.evaluation)
            write_json(asked.output / "rows" / title / f"{key}.json", row | {"truncated": one.truncation.share})
            say(f"  {key:36} recall up to 2,000 tokens {row['recall_area']:.3f}, NDCG@10 {row['ndcg']:.3f}")
    if len(found) > 1 and all(set(known) <= set(getattr(asked, part)) for part, known in LEVELS.items()):
        write_json(asked.output / "compared" / f"{title}.json", compared(found, parts))


def sweep_of(dataset: rl.Dataset, size: int | str, asked: argparse.Namespace, latency: int) -> rl.Sweep:
    """Return the sweep over the cells of one chunk size; English models take part if the text is English."""
    texts = [document.text for document in dataset.documents]
    chunker = f"recursive:{max(map(len, texts)) if size == WHOLE else size}/0"
    retrievers, rerankers = asked.retriever, asked.reranker
    if language_of(texts) != "en":
        retrievers, rerankers = ("bm25",), ("none",)
    return rl.Sweep(
        dataset=dataset,
        include=[{"chunker": chunker, "reranker": one, **RETRIEVERS[name]} for name in retrievers for one in rerankers],
        candidates=OF_WHOLE if isinstance(size, str) else max(FEWEST, CHARACTERS // size),
        metrics=METRICS,
        primary=str(AREA),
        ks=(10,),
        latency=latency,
        name=f"{dataset.name}, {size}",
    )


def figures(evaluation: rl.Evaluation) -> dict[str, float | None]:
    """Return the means of a cell, with their intervals, the tokens of ten hits, and the seconds of a question."""
    frame = evaluation.to_frame().set_index("metric")
    found: dict[str, float | None] = {"n": int(frame.loc[str(AREA), "n"])}
    for title, metric in zip(("recall_area", "recall", "ndcg", "tokens"), METRICS, strict=True):
        ends = {} if title == "tokens" else {"_low": "mean_low", "_high": "mean_high"}
        found |= {f"{title}{end}": float(frame.loc[metric, column]) for end, column in ({"": "mean"} | ends).items()}
    cost = evaluation.run.cost
    return found | {"seconds": None if cost is None or cost.whole is None else cost.whole.p50}


def compared(found: Mapping[str, rl.Evaluation], parts: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Return which cells may be the best, and what each part does: over matched cells, all pairs at once.

    By NDCG@10 only cells of the same chunks can be compared, so chunk sizes are not.
    """
    recommended = rl.compare(found, primary=str(AREA)).recommend()
    rows = []
    for metric in (AREA, NDCG10):
        frame = effects_of_factors(found, parts, metric).to_frame()
        frame = frame[(frame["factor"] != "size") | (metric == AREA)].assign(metric=str(metric))
        rows += json.loads(frame.to_json(orient="records"))
    ties = [one.system for one in recommended.equals if one.may_be_best]
    return {"ties": ties, "left_out": list(recommended.left_out), "effects": rows}


# What held on most corpora.


class Claim(NamedTuple):
    """Two levels of a part, and on how many corpora each is better: first the one that is better on more."""

    factor: str
    level: str
    other: str
    better: int
    worse: int
    corpora: int

    @property
    def holds(self) -> bool:
        """Whether the level is better on more than half of the corpora, and worse on none."""
        return 2 * self.better > self.corpora and not self.worse

    def __str__(self) -> str:
        level, other = (f"{each} characters" if self.factor == "size" else each for each in (self.level, self.other))
        counts = {"worse": self.worse, "tied": self.corpora - self.better - self.worse}
        if not self.better:
            return f"{level} and {other} are tied on all {self.corpora} corpora."
        rest = ", ".join(f"{verdict} on {count}" for verdict, count in counts.items() if count)
        return f"{level} is better than {other} on {self.better} of {self.corpora} corpora{f' ({rest})' * bool(rest)}."


def claims(effects: Iterable[Mapping[str, Any]]) -> list[Claim]:
    """Count on how many corpora each of two levels is significantly better than the other.

    Args:
        effects: of each corpus, the pairs of levels: `factor`, `level`, `other` and `verdict` of one metric.
    """
    counts: dict[tuple[str, frozenset[str]], Counter[str]] = {}
    for row in effects:
        winner = {"better": row["level"], "worse": row["other"]}.get(row["verdict"], "")
        counts.setdefault((row["factor"], frozenset((row["level"], row["other"]))), Counter())[winner] += 1
    found = []
    for (factor, levels), wins in counts.items():
        level, other = sorted(levels, key=lambda each: (-wins[each], each))
        found.append(Claim(factor, level, other, wins[level], wins[other], wins.total()))
    return found


def paragraphs(found: Sequence[Claim]) -> tuple[str, str]:
    """Return what held on most corpora, and what did not: a sentence for each pair of levels, with its counts."""
    held, others = (" ".join(str(one) for one in found if one.holds is holds) for holds in (True, False))
    return held or "Nothing.", others or "Nothing."


# The tables.


def write_tables(output: Path) -> None:
    """Make the tables of the files of all cells: CSV, Parquet and a page."""
    rows = [json.loads(file.read_text("utf-8")) for file in (output / "rows").glob("*/*.json")]
    order = {level: place for place, level in enumerate(map(str, (*CORPORA, *chain(*LEVELS.values()))))}
    rows.sort(key=lambda row: [(order.get(row[part], 99), row[part]) for part in ("corpus", *LEVELS)])
    names = list(dict.fromkeys(row["corpus"] for row in rows))
    files = {name: output / "compared" / f"{name}.json" for name in names}
    known = {name: json.loads(file.read_text("utf-8")) for name, file in files.items() if file.exists()}
    for row in rows:
        best = known.get(row["corpus"], {"ties": ()})["ties"]
        row["may_be_best"] = "-".join(row[part] for part in LEVELS) in best
    effects = [{"corpus": name, **row} for name, one in known.items() for row in one["effects"]]
    for title, table in (("cells", rows), ("effects", effects)):
        frame = pd.DataFrame(table)
        frame = frame.round(dict.fromkeys(frame.select_dtypes("float"), 4))
        frame.to_csv(output / f"{title}.csv", index=False)
        frame.to_parquet(output / f"{title}.parquet", index=False)
    with replacing_file(output / "board.md") as stream:
        stream.write("\n".join(page(rows, effects)) + "\n")


def page(rows: Sequence[Mapping[str, Any]], effects: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the page: what held on most corpora, the differences on each, and all cells."""
    yield "# What the parts of RAG do on open text\n"
    for metric in (AREA, NDCG10) if effects else ():
        chosen = [row for row in effects if row["metric"] == str(metric)]
        held, not_held = paragraphs(claims(chosen))
        yield f"## By {metric}\n\n**On most corpora.** {held}\n\n**Not on most.** {not_held}\n"
        names = list(dict.fromkeys(row["corpus"] for row in chosen))
        cells = {(row["level"], row["other"]): {} for row in chosen}
        for row in chosen:
            marks = MARKS.get(row["verdict"], "")
            cells[row["level"], row["other"]][row["corpus"]] = f"{marks}{row['difference']:+.3f}{marks}"
        lines = [[f"{one} − {other}", *map(found.get, names)] for (one, other), found in cells.items()]
        yield from table(["difference", *names], lines)
    yield "## All cells\n"
    lines = []
    for row in rows:
        means = (
            f"{row[one]:.3f} [{row[f'{one}_low']:.3f}, {row[f'{one}_high']:.3f}]" for one in ("recall_area", "ndcg")
        )
        costs = f"{row['tokens']:,.0f}", f"{row['seconds']:.2f}" if row["seconds"] else None
        parts = (row["corpus"], f"{row['questions']} of {row['of']:,}", *(row[part] for part in LEVELS))
        lines.append([*parts, *means, *costs, "tie" if row["may_be_best"] else None])
    titles = ["recall up to 2,000 tokens", "NDCG@10", "tokens of 10 hits", "seconds", "may be best"]
    yield from table(["corpus", "questions", *LEVELS, *titles], lines)


def table(titles: Sequence[str], rows: Iterable[Sequence[str | None]]) -> Iterator[str]:
    """Yield the lines of a table in Markdown."""
    yield f"| {' | '.join(titles)} |"
    yield "|---" * len(titles) + "|"
    for row in rows:
        yield f"| {' | '.join(cell or '' for cell in row)} |"
    yield ""


def print_published() -> None:
    """Print published figures over all questions beside those of the same retrievers here."""
    say(f"{'corpus':10} {'retriever':34} {'measure':11} {'here':>8} {'published':>9}  tolerance")
    for name, by_retriever in languages.PUBLISHED.items():
        full = collection(name)
        for retriever, published in by_retriever.items():
            found = languages.figures(full, languages.ranked(full, retriever))
            for metric, value in published.items():
                allowed = 0.005 if metric == languages.RECALL else TOLERANCES[retriever]
                verdict = "equal" if abs(found[metric] - value) <= allowed else "DIFFERS"
                say(f"{name:10} {retriever:34} {metric:11} {found[metric]:8.4f} {value:9.4f}  {allowed} {verdict}")


def write_json(file: Path, content: object) -> None:
    """Write a file that is there whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing_file(file) as stream:
        json.dump(content, stream, indent=1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for, one corpus after the other, and write the tables after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", nargs="+", default=CORPORA, help=f"{', '.join(CORPORA)}, or a dataset's path")
    parser.add_argument("--retriever", nargs="+", choices=RETRIEVERS, default=tuple(RETRIEVERS))
    parser.add_argument("--reranker", nargs="+", choices=RERANKERS, default=RERANKERS)
    parser.add_argument("--size", nargs="+", type=int, default=LEVELS["size"])
    parser.add_argument("--questions", type=int, default=80, help="at most so many of a corpus")
    parser.add_argument("--output", type=Path, default=Path("runs/board"))
    parser.add_argument("--published", action="store_true", help="print figures that others publish, beside ours")
    asked = parser.parse_args(arguments)
    if asked.published:
        print_published()
        asked.corpus = ()
    failed = 0
    for name in asked.corpus:
        try:
            measure(name, asked)
            write_tables(asked.output)
        except (RagliftError, OSError) as error:  # such as a corpus that is not on this machine
            failed = 1
            say(f"{name}: {error}")
    return failed


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
