"""Sixty retrieval systems in which exactly one thing is wrong for one known fact, so that its cause is known.

    python -m benchmarks.planted_defects [--kind cut ...] [--unplanted | --causes]

There are twelve kinds of defects and five cases of each, on three corpora written for this purpose (`data`). In a case
the planted fact is not among the first five hits; with only that thing put right, in one way or several, it is. Every
case has other questions too: easy ones, whose facts are found, hard ones, whose facts no usual system finds because
other texts share more with the question, and borderline ones, which some systems find and others do not.

The command runs every case both ways and prints a table; it fails if one is not as described. `--unplanted` runs the
hard and borderline questions through eleven usual systems and prints which of them find each. `--causes` has
`evaluation.repairs` name the cause of each planted fact, and of those that are lost for no planted reason.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.planting.cases import CHUNKER, K, Setup
from benchmarks.planting.corpora import corpus, query
from benchmarks.planting.kinds import KINDS, cases

from raglift import MatchRule
from raglift.analysis import fact_outcomes
from raglift.repairing.changes import nudged
from raglift.repairing.systems import Trials, system_of
from raglift.types import Dataset

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from benchmarks.planting.cases import Case


@dataclass(frozen=True)
class Verdict:
    """What came out of a case."""

    case: Case
    outcome: str
    """Of the planted fact with the defect."""
    ranks: Mapping[str, int]
    """The rank of the planted fact when it is mended in each way; 0 if it is not found."""
    found: int
    """How many other facts are found with the defect."""
    unplanted: tuple[str, ...]
    """The other questions that are lost with the defect and in every mended system."""
    faults: tuple[str, ...]
    """What is not as described."""


def verified(planted: Case) -> Verdict:
    """Run a case with its defect and without."""
    lost = planted.query_id, planted.fact
    outcomes = _outcomes(planted.defect)
    mended = {name: _outcomes(setup) for name, setup in planted.mended.items()}
    found = {each for each in outcomes if outcomes[each][0] == "found"}
    changed = {each for ways in mended.values() for each in set(outcomes) - found if ways[each][0] == "found"}
    others = set(outcomes) - {lost} - {(name, 0) for name in planted.borderline}
    hard = {(name, 0) for name in planted.hard}
    faults = [
        *(["the planted fact is found"] if lost in found else []),
        *(f"{name}: not found" for name, ways in mended.items() if ways[lost][0] != "found"),
        *(f"{name} is lost" for name, _ in sorted(others - hard - found)),
        *(f"{name} is found" for name, _ in sorted(hard & found)),
        *(f"{name} is mended too" for name, _ in sorted(hard & changed)),
        *(["fewer than three other questions are found"] if len({name for name, _ in found} - {lost[0]}) < 3 else []),
    ]
    unplanted = tuple(
        name for name in (*planted.hard, *planted.borderline) if (name, 0) not in found and (name, 0) not in changed
    )
    ranks = {name: ways[lost][1] for name, ways in mended.items()}
    return Verdict(planted, outcomes[lost][0], ranks, len(found), unplanted, tuple(faults))


def _outcomes(setup: Setup) -> dict[tuple[str, int], tuple[str, int]]:
    """Return the outcome of each fact of each question, and its rank at the end."""
    evaluation = setup.evaluate()
    # A system that is asked for two hits has no depth of five
    facts = fact_outcomes(evaluation, min(K, evaluation.run.spec["candidates"]))
    ids = [(each.id, number) for each in evaluation.dataset for number in range(len(each.facts))]
    names = [facts.outcomes[number][0] for number in facts.outcome_of_fact.tolist()]
    return dict(zip(ids, zip(names, facts.ranks[-1].tolist(), strict=True), strict=True))


SYSTEMS = (
    *((each, CHUNKER, "none") for each in ("bm25", "dense", "hybrid")),
    *((each, "recursive:300/60", "none") for each in ("bm25", "dense", "hybrid")),
    *((each, CHUNKER, "cross-encoder") for each in ("bm25", "dense", "hybrid")),
    ("bm25(language=none)", CHUNKER, "none"),
    ("bm25(k1=0.9,b=0.4)", CHUNKER, "none"),
)


def print_unplanted() -> None:
    """Print which usual systems find each hard question."""
    total: Counter[int] = Counter()
    for name in ("ferry", "town", "bees"):
        texts = corpus(name)
        names = [*texts.group("hard"), *texts.group("borderline")]
        dataset = Dataset(
            tuple(query(texts, each) for each in names),
            texts.all_documents,
            name,
        )
        # The models are English
        systems = [each for each in SYSTEMS if name != "bees" or (each[0].startswith("bm25") and each[2] == "none")]
        found = [_outcomes(Setup(dataset, *each)) for each in systems]
        say(f"{name}: found by {', '.join('+'.join(each) for each in systems)}")
        for each in names:
            row = [outcomes[each, 0][0] == "found" for outcomes in found]
            total[sum(row)] += 1
            say(f"  {each:20} " + " ".join("x" if one else "." for one in row))
    say("questions by the number of systems that find them: " + ", ".join(f"{n}: {total[n]}" for n in sorted(total)))


NAMED = {
    "cut": {"cut", "overlap"},
    "overlap": {"overlap", "cut"},
    "embedding_truncated": {"embedding truncates"},
    "reranker_truncated": {"reranker truncates"},
    "language": {"language"},
    "filter": {"filter"},
    "copy": {"copies"},
    "top_n": {"cut off"},
    "candidates": {"candidates"},
    "weight": {"weight"},
    "missing_document": {"missing document"},
    "label": {"label"},
}
"""What `evaluation.repairs` calls each kind."""


def causes_of(each: Case) -> tuple[str, dict[str, str]]:
    """Return the cause that is named first for the planted fact, and for those that are lost for no planted reason."""
    setup = each.defect
    reranker = None if setup.reranker == "none" else setup.reranker
    given = {} if setup.is_own else {"system": setup.system(), "reranker": reranker}
    repairs = each.evaluate().repairs(setup.dataset, k=K, proposing=False, progress=False, **given)
    causes = {(one.query_id, one.fact): one.cause for one in repairs.lost}
    unplanted = verified(each).unplanted
    others = {name: cause for (name, _), cause in causes.items() if name in unplanted}
    return causes.get((each.query_id, each.fact + 1), "found"), others


def found_by_nudges(each: Case, names: Iterable[str]) -> set[str]:
    """Return which questions have their fact found when chunks are moved a little, in any of eleven ways."""
    setup = each.defect
    system = system_of(each.evaluate(), K, None, None)
    if system is None:
        return set()
    trials = Trials(setup.dataset, MatchRule(), {})
    places = {query.id: place for place, query in enumerate(trials.queries)}
    wanted = sorted(places[name] for name in names)
    found = [trials.ranks(one, wanted) for one in nudged(system)]
    return {trials.queries[place].id for ranks in found for (place, _), rank in ranks.items() if rank <= K}


def print_causes(asked: Sequence[Case]) -> None:
    """Print the causes that are named."""
    right, others, nudges = 0, Counter[str](), Counter[str]()
    for each in asked:
        cause, unplanted = causes_of(each)
        right += cause in NAMED[each.kind]
        others.update(unplanted.values())
        nudges.update(unplanted[name] for name in found_by_nudges(each, unplanted))
        claimed = ", ".join(f"{name}: {one}" for name, one in unplanted.items() if one != "unexplained")
        say(f"{each.name:24} {'' if cause in NAMED[each.kind] else '!':1} {cause:20} {claimed}")
    say(f"\n{right} of {len(asked)} causes are named first; of facts lost for no planted reason:")
    for cause, count in others.most_common():
        say(f"{count:6} {cause}, {nudges[cause]} of them found when chunks are moved a little")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases and print a row for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kind", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--unplanted", action="store_true", help="print which usual systems find the hard questions")
    parser.add_argument("--causes", action="store_true", help="print the causes that evaluation.repairs names")
    asked = parser.parse_args(arguments)
    if asked.causes:
        print_causes(cases(asked.kind))
        return 0
    if asked.unplanted:
        print_unplanted()
        return 0
    begun = time.perf_counter()
    say(f"{'case':24} {'fact of':16} {'parts':5} {'outcome':14} {'found':>5} {'lost':>4}  rank when mended by")
    verdicts = []
    for each in cases(asked.kind):
        verdict = verified(each)
        verdicts.append(verdict)
        ways = "; ".join(f"{name}: {rank or '-'}" for name, rank in verdict.ranks.items())
        parts = "names" if each.defect.is_own else "-"
        counts = f"{verdict.found:5} {len(verdict.unplanted):4}"
        say(f"{each.name:24} {each.query_id:16} {parts:5} {verdict.outcome:14} {counts}  {ways}")
        for fault in verdict.faults:
            say(f"{'':24} ! {fault}")
    lost = Counter(name for each in verdicts for name in each.unplanted)
    good = sum(not each.faults for each in verdicts)
    say(
        f"\n{good} of {len(verdicts)} cases are as described; {lost.total()} further facts are lost, "
        f"of {len(lost)} questions; {time.perf_counter() - begun:.0f} s"
    )
    return int(good < len(verdicts))


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(line.rstrip() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
