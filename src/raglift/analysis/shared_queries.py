"""Which queries and systems can be compared."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from raglift.errors import ConfigurationError
from raglift.types.labels import Fact, LabelSources, Passage, Query
from raglift.types.rankings import CANDIDATES
from raglift.utilities.display import counted, listed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from raglift.results.evaluation import Evaluation


# Whether systems can be compared: the queries they share, and how they were scored.


_SHOWN = 3
_ASK_AGAIN = "evaluate both on one version of the dataset"
_RELABEL = (
    f"{_ASK_AGAIN}, or score one again by the labels of the other with rl.rescore(evaluation, labels=…) or raglift "
    "rescore --labels"
)
_UPDATE = (
    "the documents differ too: `raglift labels update OLD NEW` says what became of each label, and with `--runs BEFORE "
    "AFTER` how much of the change is labels"
)


@dataclass(frozen=True, eq=False)
class SharedQueries:
    """The queries that all systems answered."""

    queries: tuple[Query, ...]
    """In the baseline's order."""
    places: Mapping[str, NDArray[np.intp]]
    """For each system, where these queries stand among its own."""
    notes: tuple[str, ...]
    """How the systems' datasets differ, where that does not matter to the figures."""

    def columns(self, name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a system's values, whose last axis is its own queries, for the shared queries."""
        return values[..., self.places[name]]


def check_same_rule(systems: Mapping[str, Evaluation]) -> None:
    """Raise unless all systems were scored by one match rule and one profile's conventions."""
    first, reference = next(iter(systems.items()))
    for name, evaluation in systems.items():
        for what, mine, other in (
            ("match", evaluation.run.spec["match"], reference.run.spec["match"]),
            ("profile", evaluation.profile, reference.profile),
        ):
            if mine != other:
                raise ConfigurationError(
                    f"compare: {first!r} and {name!r} were scored by different rules: {what} is "
                    f"{_settings(other, mine)} and {_settings(mine, other)}; expected the same: score one again with "
                    f"`raglift rescore RUN --{what} … -o FOLDER` or rl.rescore(evaluation, {what}=…), which ask no "
                    "system again"
                )


def shared_queries(systems: Mapping[str, Evaluation], baseline: str) -> SharedQueries:
    """Return the queries that all systems answered, paired by id."""
    reference = systems[baseline]
    common = reference.dataset.query_by_id
    notes: list[str] = []
    kept = set(common)
    for name, evaluation in systems.items():
        if evaluation is reference:
            continue
        theirs = evaluation.dataset.query_by_id
        _check_overlap(baseline, common, name, theirs)
        advice = _UPDATE if _have_other_documents(reference, evaluation) else _RELABEL
        check_same_queries(baseline, common, name, theirs, advice)
        kept &= set(theirs)
        notes += _differences(baseline, reference, name, evaluation)
    if not kept:
        raise ConfigurationError(
            "compare: found no question that all systems answered; expected the same questions for all"
        )
    queries = tuple(query for query in reference.dataset.queries if query.id in kept)
    if len(queries) < max(len(evaluation.dataset) for evaluation in systems.values()):
        notes.append(f"compared on the {counted(len(queries), 'question')} that all systems answered")
    ids = [query.id for query in queries]
    places = {name: evaluation.scores.places_of(ids) for name, evaluation in systems.items()}
    return SharedQueries(queries, places, tuple(notes))


def _check_overlap(baseline: str, common: Mapping[str, Query], name: str, theirs: Mapping[str, Query]) -> None:
    if common.keys().isdisjoint(theirs):
        raise ConfigurationError(
            f"compare: {baseline!r} and {name!r} share no query id: found {named(list(common))} and "
            f"{named(list(theirs))}; expected evaluations of the same dataset"
        )


def check_same_queries(
    baseline: str,
    common: Mapping[str, Query],
    name: str,
    theirs: Mapping[str, Query],
    relabelled: str = _RELABEL,
) -> None:
    """Raise when a query that two share is not the same question with the same labels, whoever gave them."""
    shared = [(key, query, theirs[key]) for key, query in common.items() if key in theirs]
    for what, is_same in (("text", _same_text), ("labels", _same_labels)):
        changed = [key for key, query, other in shared if not is_same(query, other)]
        if changed:
            ours, others = LabelSources.of(common.values()), LabelSources.of(theirs.values())
            whose = f" ({_whose(baseline, ours)}; {_whose(name, others)})" if str(ours) != str(others) else ""
            differ = "differ" if what == "labels" else "differs"
            raise ConfigurationError(
                f"compare: the {what} of {counted(len(changed), 'question')} {differ} between "
                f"{baseline!r} and {name!r}: found {named(changed)}{whose if what == 'labels' else ''}; "
                f"expected the same {what} in all compared runs: {relabelled if what == 'labels' else _ASK_AGAIN}"
            )


def _differences(baseline: str, reference: Evaluation, name: str, evaluation: Evaluation) -> list[str]:
    """Say how two datasets differ beyond the questions and labels that they share."""
    ours, theirs = reference.dataset.query_by_id, evaluation.dataset.query_by_id
    notes = [
        f"{who} was not asked {counted(len(missing), 'question')} of {whose}: {named(missing)}"
        for who, whose, missing in (
            (name, baseline, [key for key in ours if key not in theirs]),
            (baseline, name, [key for key in theirs if key not in ours]),
        )
        if missing
    ]
    shared = [(query, theirs[key]) for key, query in ours.items() if key in theirs]
    if any(query.tags != other.tags for query, other in shared):
        notes.append(f"tags differ between {baseline} and {name}: those of {baseline} are used")
    notes += _other_judges(baseline, name, shared)
    # the hash is of queries and documents: where the queries are the same, in the same order, it is the documents
    same = reference.dataset.queries == evaluation.dataset.queries
    relabelled = any("relabelled" in one.run.spec for one in (reference, evaluation))  # then it may hold no documents
    other = same and not relabelled and _hash(reference) != _hash(evaluation)
    if other or _have_other_documents(reference, evaluation):
        rest = "; questions and labels do not" if same else ""
        notes.append(f"the documents of the dataset differ between {baseline} and {name}{rest}")
    return notes


def _other_judges(baseline: str, name: str, shared: Sequence[tuple[Query, Query]]) -> list[str]:
    """Describe how the judged passages or their annotators differ when the facts of the queries are equal."""
    if any(_unsigned(query.judged_irrelevant) != _unsigned(other.judged_irrelevant) for query, other in shared):
        return [f"what was judged irrelevant differs between {baseline} and {name}: do not compare their Judged@k"]
    ours, theirs = (LabelSources.of(pair[side] for pair in shared) for side in (0, 1))
    if ours == theirs:
        return []
    return [f"the labels are the same, but not who gave them: {_whose(baseline, ours)}; {_whose(name, theirs)}"]


def _same_text(query: Query, other: Query) -> bool:
    return query.text == other.text


def _same_labels(query: Query, other: Query) -> bool:
    if query.answerable != other.answerable:
        return False
    return query.facts == other.facts or _of_facts(query) == _of_facts(other)


def _of_facts(query: Query) -> list[Fact]:
    return [replace(fact, passages=tuple(_unsigned(fact.passages))) for fact in query.facts]


def _unsigned(passages: Sequence[Passage]) -> list[Passage]:
    """Return passages without their annotators."""
    return [replace(passage, annotator=None) for passage in passages]


def _whose(name: str, sources: LabelSources) -> str:
    return f"{name!r}: {str(sources) or 'labels by people'}"


def _hash(evaluation: Evaluation) -> object:
    return evaluation.run.spec.get("dataset", {}).get("hash")


def documents_hash_of(evaluation: Evaluation) -> str | None:
    """Return the hash of the documents that were searched; None if it is not known."""
    spec = evaluation.run.spec
    found: str | None = spec.get("relabelled", spec).get("dataset", {}).get("documents")
    return found


def _have_other_documents(one: Evaluation, other: Evaluation) -> bool:
    """Whether two runs are known to have searched different documents, whatever labels they were scored by since."""
    documents = documents_hash_of(one), documents_hash_of(other)
    return None not in documents and documents[0] != documents[1]


def _settings(mine: object, other: object) -> str:
    """Return a setting as text; of a rule its mode, and what else is not as in the other."""
    if not isinstance(mine, dict) or not isinstance(other, dict):
        return str(mine)
    others = {key: value for key, value in mine.items() if key != "mode" and value is not None}
    differing = [f"{key}={value!r}" for key, value in others.items() if value != other.get(key)]
    return f"{mine.get('mode')}" + (f" ({', '.join(differing)})" if differing else "")


def named(ids: Sequence[str]) -> str:
    """Return the first few ids or names, and how many more there are."""
    return listed(ids, _SHOWN)


# Names of the compared systems, and which of them is the baseline.


_WORK = re.compile(r"HTTP \w+ (?P<service>\w+://\S+)|MCP .*#(?P<tool>[^\s#]+)|[^\s(:]+")
"""What a stage does: a service is its address, any other the word that it begins with."""


def baseline_of(names: Sequence[str], baseline: str | int | None) -> str:
    """Return the name of a system that is given by name or number; that of the first where none is given."""
    if baseline is None:
        return names[0]
    if isinstance(baseline, str) and baseline in names:
        return baseline
    is_number = isinstance(baseline, int) and not isinstance(baseline, bool)
    if is_number and -len(names) <= int(baseline) < len(names):
        return names[int(baseline)]
    numbers = "" if isinstance(baseline, str) else f", or a number from 0 to {len(names) - 1}"
    raise ConfigurationError(f"baseline: found {baseline!r}; expected one of {', '.join(map(repr, names))}{numbers}")


def system_name(evaluation: Evaluation) -> str:
    """Return what to call a system: cells of sweeps and agents by their names, others by stages: `bm25 + reranker`."""
    if evaluation.run.has_sessions:
        return cell_name(evaluation) or evaluation.run.stages[0].system
    # The candidates are of the retriever too, asked for more hits
    stages = [stage for stage in evaluation.run.stages if stage.name != CANDIDATES]
    work = (_WORK.match(stage.system) for stage in stages)
    return cell_name(evaluation) or " + ".join(
        _name_of(found) if found else stage.name for found, stage in zip(work, stages, strict=True)
    )


def _name_of(work: re.Match[str]) -> str:
    """Return what to call a stage: a service by its address, a server's tool by its name, any other by its kind."""
    return f"MCP {work['tool']}" if work["tool"] else work["service"] or work[0]


def cell_name(evaluation: Evaluation) -> str:
    """Return the name of a sweep's cell; empty for an evaluation that is none."""
    cell = evaluation.run.spec.get("sweep")
    return str(cell.get("name") or "") if isinstance(cell, Mapping) else ""
