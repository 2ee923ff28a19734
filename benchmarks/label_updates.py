"""How well are labels carried to another version of the documents, by the truth that git has?

    python benchmarks/label_updates.py REPOSITORY A B [--paths GLOB ...] [--labels 3000] [--show edited 100]

Every paragraph of the documentation at commit A is a label. `label_history.py` follows it to commit B; its classes are
described there. A new place is right if it has the same words and overlaps the place that git says. Beside raglift:

- exact text: the first occurrence of the same text, or else the paragraph that is most like it.
- chunk numbers and chunk hashes: labels that are ids of chunks of 1,000 characters, kept if the ids still exist.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from label_history import CLASSES, JUDGED, Git, Label, Range, fold, followed, paragraphs
from rapidfuzz import fuzz, process

from raglift.auditing.records import Place
from raglift.types import Dataset, Document, Fact, Passage, Query
from raglift.updating import update_labels
from raglift.updating.records import CERTAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

NEAREST, LIKE = 90.0, 60.0
"""The least ratios from which the nearest paragraph is taken for certain, and is proposed."""
CHUNK = 1000


@dataclass(frozen=True)
class Answer:
    """What a way of carrying labels says of one."""

    kind: str
    """Its own word for it."""
    place: Place | None = None
    """The new place that it writes without asking; None if it asks."""
    first: Place | None = None
    """The first place that it proposes if it asks."""
    contains: bool = False
    """Whether the place only has to contain the label's, as a chunk does."""
    why: str = ""
    """Its reason, if it has one."""


@dataclass(frozen=True)
class Verdict:
    """What an answer is worth."""

    certain: bool
    """Whether it is written without asking."""
    right: bool
    """Whether it is certain, and the place that git says, with the same words."""
    wrong: bool
    """Whether it is certain and not right; not counted of labels of which both ends do not show the truth."""
    near: bool
    """Whether the first place that it says overlaps the label's successor."""


@dataclass(frozen=True)
class Case:
    """The labels that are carried, with the lines of the documents as they were and as they are."""

    labels: Sequence[Label]
    old: Mapping[str, list[str]]
    new: Mapping[str, list[str]]

    @cached_property
    def texts(self) -> tuple[dict[str, str], dict[str, str]]:
        """The documents of both versions by path, without those that are not text."""
        both = ({path: "\n".join(lines) for path, lines in each.items()} for each in (self.old, self.new))
        old, new = ({path: text for path, text in each.items() if not {"\0", "\ufffd"} & {*text}} for each in both)
        return old, new

    def span(self, place: Range, version: int) -> Place:
        """Return lines as characters, without the white space around them."""
        path, start, end = place
        lines = (self.old, self.new)[version][path]
        text = "\n".join(lines[start:end])
        first = sum(map(len, lines[:start])) + start + len(text) - len(text.lstrip())
        return Place(path, first, first + len(text.strip()))

    def text(self, place: Place, version: int) -> str:
        """Return the text of a place."""
        return self.texts[version][place.doc_id][place.start : place.end]

    def verdict(self, label: Label, answer: Answer) -> Verdict:
        """Return what an answer is worth."""
        place, right = answer.place, False
        if place and label.place and label.place[0] in self.texts[1]:
            truth = self.span(label.place, 1)
            if answer.contains:
                right = _overlap(truth, place) == truth.end - truth.start
            else:
                right = _overlap(truth, place) > 0 and fold(self.text(place, 1).split("\n")) == label.key
        first, successor = place or answer.first, label.successor
        near = bool(first and successor and _overlap(self.span(successor, 1), first))
        return Verdict(place is not None, right, place is not None and not right and label.state in JUDGED, near)


def _overlap(a: Place, b: Place) -> int:
    return max(0, min(a.end, b.end) - max(a.start, b.start)) if a.doc_id == b.doc_id else 0


def by_raglift(case: Case) -> list[Answer]:
    """Carry the labels with raglift."""
    old, new = ([Document(path, text) for path, text in each.items()] for each in case.texts)
    queries = []
    for number, label in enumerate(case.labels):
        place = case.span(label.old, 0)
        passage = Passage(case.text(place, 0), place.doc_id, place.start, place.end)
        queries.append(Query(f"{number:06}", f"question {number}", (Fact((passage,)),)))
    found = {each.query_id: each for each in update_labels(Dataset(tuple(queries), old), new).passages}
    return [
        Answer(
            each.kind,
            each.new_place if each.kind in CERTAIN else None,
            each.candidates[0].place if each.candidates else None,
            why=each.rule,
        )
        for each in (found[query.id] for query in queries)
    ]


def by_exact_text(case: Case) -> list[Answer]:
    """Take the first occurrence of the same text, or else the nearest paragraph, certain from a ratio of 90."""
    new = case.texts[1]
    blocks = {path: [case.span((path, *lines), 1) for lines in paragraphs(case.new[path])] for path in new}
    texts = {path: [case.text(each, 1) for each in places] for path, places in blocks.items()}
    every = [each for path in new for each in blocks[path]], [each for path in new for each in texts[path]]
    answers = []
    for label in case.labels:
        text = case.text(case.span(label.old, 0), 0)
        own = label.old[0]
        for path in [own, *new] if own in new else new:
            if (at := new[path].find(text)) >= 0:
                answers.append(Answer("same text", Place(path, at, at + len(text))))
                break
        else:
            for places, among in ((blocks.get(own, []), texts.get(own, [])), every):
                if best := process.extractOne(text, among, scorer=fuzz.ratio, score_cutoff=LIKE):
                    place = places[best[2]]
                    certain = best[1] >= NEAREST
                    answers.append(Answer("nearest", place if certain else None, place))
                    break
            else:
                answers.append(Answer("nowhere"))
    return answers


def by_chunks(case: Case, *, hashed: bool) -> list[Answer]:
    """Keep the ids of the chunks of 1,000 characters that hold the label: hashes of their text, or numbers by file."""

    def chunks(path: str, text: str) -> Iterator[tuple[tuple[str, int | str], Place]]:
        for start in range(0, len(text), CHUNK):
            chunk = text[start : start + CHUNK]
            yield ("", chunk) if hashed else (path, start), Place(path, start, start + len(chunk))

    old, new = ([each for path, text in version.items() for each in chunks(path, text)] for version in case.texts)
    ids, now = defaultdict(list), dict(reversed(new))
    for id_, place in old:
        ids[place.doc_id].append((id_, place))
    answers = []
    for label in case.labels:
        own = case.span(label.old, 0)
        kept = [now.get(id_) for id_, place in ids[own.doc_id] if _overlap(place, own)]
        first, last = kept[0], kept[-1]
        there = first and last and all(kept) and first.doc_id == last.doc_id
        place = Place(first.doc_id, first.start, last.end) if first and last and there else None
        answers.append(Answer("id exists" if place else "id is gone", place, contains=True))
    return answers


SYSTEMS: dict[str, Callable[[Case], list[Answer]]] = {
    "raglift": by_raglift,
    "exact text": by_exact_text,
    "chunk numbers": partial(by_chunks, hashed=False),
    "chunk hashes": partial(by_chunks, hashed=True),
}


# The figures.

SHARES = (
    ("live: carried to the right place", ("live",), "right"),
    ("edited: written as certain", ("edited",), "certain"),
    ("edited: first candidate is the successor", ("edited",), "near"),
    ("reworded: written as certain", ("reworded",), "certain"),
    ("reworded: first candidate is the successor", ("reworded",), "near"),
    ("gone or several: written as certain", ("gone", "several"), "certain"),
    ("returned: carried to the right place", ("returned",), "right"),
    ("copied: carried to the copy", ("copied",), "right"),
)
"""What is printed of which classes."""


def interval(clusters: Sequence[str], of: Sequence[bool], hits: Sequence[bool], seed: int) -> str:
    """Return a share with its 95% interval from resampled files, as text."""
    names = {path: number for number, path in enumerate(dict.fromkeys(clusters))}
    where = np.array([names[path] for path in clusters])
    count, hit = (
        np.bincount(where, weights=np.array(each, float), minlength=len(names))
        for each in (of, np.logical_and(of, hits))
    )
    if not count.sum():
        return f"{'–':>27}"
    drawn = np.random.default_rng(seed).multinomial(len(names), np.full(len(names), 1 / len(names)), size=2000)
    totals = drawn @ count
    low, high = np.percentile((drawn @ hit)[totals > 0] / totals[totals > 0], [2.5, 97.5])
    return f"{hit.sum():5.0f} {hit.sum() / count.sum():7.2%} [{low:5.1%}, {high:6.1%}]".rjust(27)


def print_figures(
    labels: Sequence[Label], answers: Mapping[str, list[Answer]], verdicts: Mapping[str, list[Verdict]], seed: int
) -> None:
    """Print the shares of each way, and its kinds by class."""
    say(f"{'':42} {'of':>6} " + " ".join(f"{name:>27}" for name in verdicts))
    files = [label.old[0] for label in labels]
    for name, states, field_ in SHARES:
        of = [label.state in states for label in labels]
        shares = [interval(files, of, [getattr(each, field_) for each in found], seed) for found in verdicts.values()]
        say(f"{name:42} {sum(of):6,} " + " ".join(shares))
    shares = []
    for found in verdicts.values():
        certain = [each.certain and label.state in JUDGED for label, each in zip(labels, found, strict=True)]
        shares.append(interval(files, certain, [each.wrong for each in found], seed))
    say(f"{'of all that is certain: wrong':42} {'':6} " + " ".join(shares))
    for name, said in answers.items():
        counts = Counter((label.state, each.kind) for label, each in zip(labels, said, strict=True))
        kinds = sorted({kind for _, kind in counts})
        say(f"\n{name:14} " + " ".join(f"{kind:>10}" for kind in kinds))
        for state in CLASSES:
            say(f"  {state:12} " + " ".join(f"{counts[state, kind]:10,}" for kind in kinds))


def print_labels(case: Case, numbers: Iterable[int], answers: Sequence[Answer]) -> None:
    """Print labels for reading: the old text, the place that a way says, and git's."""
    for number in numbers:
        label, answer = case.labels[number], answers[number]
        path, start, end = label.old
        say(f"--- {number} {label.state}, {path}:{start + 1}, {label.copies} copies; {', '.join(label.events)}")
        say(case.text(case.span((path, start, end), 0), 0))
        say(f"--- {answer.kind}: {answer.why}")
        if place := answer.place or answer.first:
            say(f"{'place' if answer.place else 'first candidate'}: {place}\n{case.text(place, 1)}")
        if truth := label.successor:
            say(f"--- git: {truth[0]}:{truth[1] + 1}\n" + "\n".join(case.new[truth[0]][slice(*truth[1:])]))
        say("")


def main(arguments: Sequence[str] | None = None) -> int:
    """Follow the labels, carry them in each way, and print how often that is right."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("repository", type=Path, help="a folder that git reads: a checkout or a bare repository")
    parser.add_argument("a", help="the older commit, among the first parents of the newer one")
    parser.add_argument("b", help="the newer commit")
    parser.add_argument("--paths", nargs="+", default=(), help="globs, as 'docs/**/*.md'; all documentation by default")
    parser.add_argument("--labels", type=int, default=3000, help="how many paragraphs are drawn; 0 for all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--show", nargs=2, default=("wrong", "20"), metavar=("CLASS", "COUNT"))
    parser.add_argument("--json", type=Path, help="a file for every label with its truth and all answers")
    asked = parser.parse_args(arguments)
    git = Git(asked.repository, asked.paths)
    a, b = git.commit(asked.a), git.commit(asked.b)
    begun = time.perf_counter()
    labels, old, new = followed(git, a, b)
    readable = Case((), old, new).texts[0]
    labels = [each for each in labels if each.old[0] in readable and each.old[0][0].isalnum()]  # as ids have to begin
    if not labels:
        raise SystemExit(f"found no paragraphs at {a}; expected files like {', '.join(git.paths[:3])}")
    random = np.random.default_rng(asked.seed)
    if 0 < asked.labels < len(labels):
        labels = [labels[each] for each in sorted(random.choice(len(labels), asked.labels, replace=False))]
    case = Case(labels, old, new)
    say(f"{a[:10]}..{b[:10]}: {len(old):,} → {len(new):,} files, {len(labels):,} labels")
    say(f"git: {time.perf_counter() - begun:.1f} s")
    answers, verdicts = {}, {}
    for name in asked.systems:
        begun = time.perf_counter()
        answers[name] = SYSTEMS[name](case)
        say(f"{name}: {time.perf_counter() - begun:.1f} s")
        verdicts[name] = [case.verdict(*pair) for pair in zip(labels, answers[name], strict=True)]
    counts = Counter(label.state for label in labels)
    say(", ".join(f"{state} {counts[state]:,} ({counts[state] / len(labels):.1%})" for state in CLASSES))
    texts = [case.text(case.span(label.old, 0), 0) for label in labels]
    exact = sum(any(text in each for each in case.texts[1].values()) for text in texts)
    several = sum(label.state == "live" and label.copies[1] > 1 for label in labels)
    say(
        f"the same text, anywhere: {exact:,} ({exact / len(labels):.1%}); live with copies: {several:,}, "
        f"not to be told apart by both ends: {sum(label.open for label in labels):,}\n"
    )
    print_figures(labels, answers, verdicts, asked.seed)
    shown = asked.systems[0]
    state, count = asked.show
    chosen = [
        n for n, each in enumerate(labels) if (verdicts[shown][n].wrong if state == "wrong" else each.state == state)
    ]
    say(f"\n{shown}: {state}")
    print_labels(case, sorted(random.permutation(chosen)[: int(count)].tolist()), answers[shown])
    if asked.json:
        rows = [
            {**asdict(label), "text": text, "successor": label.successor}
            | {name: asdict(answers[name][n]) | asdict(verdicts[name][n]) for name in answers}
            for n, (label, text) in enumerate(zip(labels, texts, strict=True))
        ]
        asked.json.write_text(json.dumps(rows, indent=1, ensure_ascii=False), encoding="utf-8")
    return 0


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line.rstrip().encode("utf-8", "replace").decode() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
