"""What of a metric's change between two versions of the documents is the labels, and what the system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import raglift as rl
from raglift.auditing.records import Place
from raglift.errors import ConfigurationError
from raglift.matching.rule import MatchRule
from raglift.results.evaluation import Evaluation
from raglift.retrieval.bm25 import BM25Retriever
from raglift.running.evaluation import evaluate
from raglift.running.scoring import rescore
from raglift.testing.fakes import FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Fact, Passage, Query
from raglift.types.metric import Metric
from raglift.updating.attribution import attribute_change
from raglift.updating.records import LabelUpdate, UpdatedPassage

LINES = {name: f"This is the line {name}, which answers a question." for name in "abcdefgh"}
ALONE = "Nothing of this line answers anything."


def document(doc_id: str, *names: str, before: str = "") -> Document:
    return Document(doc_id, before + "\n".join(LINES[name] for name in names))


def passage(name: str, source: Document) -> Passage:
    start = source.text.index(LINES[name])
    return Passage(LINES[name], source.id, start, start + len(LINES[name]))


def carried(dataset: Dataset, documents: Sequence[Document], gone: Sequence[str] = ()) -> LabelUpdate:
    """An update by the words alone: a passage is at the first place of the new documents that has them."""
    found: list[UpdatedPassage] = []
    for query in dataset:
        facts = [(f"relevant[{number}]", each) for number, fact in enumerate(query.facts) for each in fact.passages]
        others = [(f"judged_irrelevant[{number}]", each) for number, each in enumerate(query.judged_irrelevant)]
        for where, old in (*facts, *others):
            text = old.text or ""
            home = next(
                (one for one in sorted(documents, key=lambda one: one.id != old.doc_id) if text in one.text), None
            )
            place = Place(old.doc_id or "", old.start or 0, old.end or 0)
            if home is None or text in gone:
                found.append(UpdatedPassage(query.id, where, "gone", old, place))
                continue
            start = home.text.index(text)
            if home.id == old.doc_id and home.text.startswith(text, old.start or 0):
                start = old.start or 0
            new = replace(old, doc_id=home.id, start=start, end=start + len(text))
            kind = "unchanged" if new == old else "moved"
            found.append(
                UpdatedPassage(query.id, where, kind, old, place, new, Place(home.id, start, start + len(text)))
            )
    return LabelUpdate(dataset, tuple(documents), tuple(found))


def measured(
    dataset: Dataset, rankings: Mapping[str, Sequence[tuple[str, str]]], metrics: Sequence[str] = ("rr",)
) -> Evaluation:
    """An evaluation of a system that returns lines of documents: (document, name of the line)."""
    table = {
        dataset.query(query_id).text: [Chunk(LINES.get(name, ALONE), doc_id=doc_id) for doc_id, name in hits]
        for query_id, hits in rankings.items()
    }
    return evaluate(FakeRetriever(table), dataset, metrics=metrics, ks=(3,), depth="deep", candidates=3)


def by_text(dataset: Dataset, documents: Sequence[Document]) -> Dataset:
    """The questions with labels that fit any version of the documents."""
    queries = [
        replace(
            query, facts=tuple(Fact((Passage(fact.passages[0].text),)) for fact in query.facts), judged_irrelevant=()
        )
        for query in dataset
    ]
    return Dataset(tuple(queries), tuple(documents), dataset.name)


OLD = (document("one.md", "a", "b"), document("two.md", "c", "d", "e"))
NEW = (document("renamed.md", "a", "b"), document("two.md", "c", "e"))
LABELS = Dataset(
    (
        Query("moved", "Where is a?", (Fact((passage("a", OLD[0]),)),)),
        Query("same", "Where is c?", (Fact((passage("c", OLD[1]),)),)),
        Query("gone", "Where is d?", (Fact((passage("d", OLD[1]),)),)),
        Query("half", "Where are c and d?", (Fact((passage("c", OLD[1]),)), Fact((passage("d", OLD[1]),)))),
        Query("unlabelled", "Where is nothing?"),
    ),
    OLD,
    "lines",
)
BEFORE = {
    "moved": [("one.md", "a")],
    "same": [("two.md", "-"), ("two.md", "c")],
    "gone": [("two.md", "d")],
    "half": [("two.md", "d")],
    "unlabelled": [("two.md", "c")],
}
AFTER = {
    "moved": [("two.md", "-"), ("renamed.md", "a")],
    "same": [("two.md", "c")],
    "gone": [("two.md", "-")],
    "half": [("two.md", "-"), ("two.md", "c")],
    "unlabelled": [("two.md", "c")],
}


@pytest.fixture(scope="module")
def update() -> LabelUpdate:
    return carried(LABELS, NEW)


@pytest.fixture(scope="module")
def before() -> Evaluation:
    return measured(LABELS, BEFORE)


@pytest.fixture(scope="module")
def after() -> Evaluation:
    return measured(by_text(LABELS, NEW), AFTER)


def test_the_parts_of_a_small_case_are_those_counted_by_hand(update, before, after) -> None:
    change = update.change(before, after, "rr@3")
    assert change.query_ids == ("moved", "same", "gone", "half")
    assert change.before.tolist() == [1, 0.5, 1, 1]
    assert change.stale.tolist() == [0, 1, 0, 0.5]
    assert change.updated.tolist() == [0.5, 1, 0, 0.5]
    assert (change.total, change.moved, change.died, change.system) == (-2 / 4, -0.5 / 4, -1.5 / 4, 0)
    assert (change.moved_labels, change.lost_labels) == (1, 2)
    assert (change.difference.n, change.difference.mean, change.difference.wins) == (2, 0.0, 1)
    frame = change.to_frame()
    assert list(frame) == ["query_id", "before", "stale", "updated", "part"]
    assert frame["part"].tolist() == ["system", "system", "died", "died"]
    assert update.waiting == ("gone", "half")


def test_the_lead_names_each_part_and_the_questions_that_can_be_read(update, before, after) -> None:
    lead = update.change(before, after, "rr@3").view().lead
    for figure in ("0.875", "0.375", "−0.125", "1 label ", "−0.375", "2 labels ", "0.000 the system", "2 questions"):
        assert figure in lead
    gone = carried(LABELS, NEW, gone=tuple(LINES.values())).change(before, after)
    assert gone.difference.n == 0
    assert (gone.system, gone.moved, gone.died) == (0, 0, gone.total)
    for result in (gone, update.change(before, after)):
        for text in (str(result), result.to_text(), result.to_markdown(), result._repr_html_()):
            assert "MRR@3" in text


def test_the_new_run_is_scored_by_the_updated_labels_whatever_it_was_scored_by(update, before, after) -> None:
    change = update.change(before, after)
    for labels in (update.updated, by_text(LABELS, NEW)):
        again = update.change(before, rescore(after, labels=labels, metrics=["rr"], ks=[3]))
        assert again.to_frame().equals(change.to_frame())
    known = [query for query in change.query_ids if query not in update.waiting]
    right = rescore(after, labels=update.updated, metrics=["rr"], ks=[3]).last_values("rr@3", known)
    np.testing.assert_array_equal(change.updated[change.in_both], right)


def test_a_run_that_was_asked_fewer_questions_is_looked_at_on_those(update, before) -> None:
    asked = {key: hits for key, hits in AFTER.items() if key not in update.waiting}
    change = update.change(before, measured(update.updated, asked))
    assert change.query_ids == ("moved", "same")
    assert (change.died, change.lost_labels) == (0, 0)
    (note,) = change.notes
    assert "2 questions" in note
    assert "gone, half" in note


def test_saved_runs_have_the_same_parts(update, before, after, tmp_path) -> None:
    saved = [rl.load_evaluation(run.save(tmp_path / name)) for name, run in (("b", before), ("a", after))]
    assert update.change(*saved).to_frame().equals(update.change(before, after).to_frame())


def test_a_passage_that_only_shifted_matches_either_way_by_its_words() -> None:
    new = (document("one.md", "a", "b", before="A new line.\n"), document("two.md", "c", "d", "e"))
    update = carried(LABELS, new)
    before, after = measured(LABELS, BEFORE), measured(by_text(LABELS, new), BEFORE)
    change = update.change(before, after)
    assert (change.moved, change.system, change.total) == (0, 0, 0)


def test_by_coverage_new_offsets_count_and_old_ones_do_not() -> None:
    """The old offsets of a lie in what is now b: by them, a would be covered by the chunk of b."""
    old = (document("one.md", "a", "b"),)
    new = (document("one.md", "b", "a"),)
    labels = Dataset((Query("q", "Where is a?", (Fact((passage("a", old[0]),)),)),), old)
    places = [passage(name, new[0]) for name in "ba"]
    chunks = [Chunk(each.text or "", doc_id="one.md", start=each.start, end=each.end) for each in places]
    run = evaluate(
        FakeRetriever({"Where is a?": chunks}),
        by_text(labels, new),
        metrics=["rr"],
        ks=(3,),
        match=MatchRule("coverage"),
        depth="deep",
        candidates=3,
    )
    start = evaluate(FakeRetriever({"Where is a?": [LINES["a"]]}), labels, metrics=["rr"], ks=(3,), match="coverage")
    change = carried(labels, new).change(start, run)
    assert (change.before.tolist(), change.stale.tolist(), change.updated.tolist()) == ([1], [0.5], [0.5])


KINDS = st.sampled_from(["unchanged", "moved", "gone"])
RANKS = st.sampled_from([None, 0, 1, 2])


@given(
    cases=st.lists(
        st.tuples(st.lists(st.lists(KINDS, min_size=1, max_size=2), min_size=1, max_size=2), RANKS, RANKS),
        min_size=1,
        max_size=6,
    ),
    metric=st.sampled_from(["rr@3", "recall@3", "ndcg@3"]),
)
def test_the_parts_add_up_and_are_those_of_rescored_runs(cases, metric) -> None:
    old, new, queries, passages, hits = [], [], [], [], ({}, {})
    mixed = {}
    for number, (facts, *ranks) in enumerate(cases):
        query_id, made, now = f"q{number}", [], []
        for place, kinds in enumerate(facts):
            alternatives, alive = [], []
            for other, kind in enumerate(kinds):
                words = f"The words {number} {place} {other} answer the question."
                was = f"{query_id}-{place}-{other}.md"
                home = was if kind == "unchanged" else f"new-{was}"
                old.append(Document(was, words))
                new.append(Document(home, ALONE if kind == "gone" else words))
                label = Passage(words, was, 0, len(words))
                moved = None if kind == "gone" else replace(label, doc_id=home)
                where = f"relevant[{place}][{other}]"
                passages.append(UpdatedPassage(query_id, where, kind, label, None, moved))
                alternatives.append(label)
                alive += [moved] * (moved is not None)
            made.append(Fact(tuple(alternatives)))
            now.append(Fact(tuple(alive) or tuple(replace(one, start=None, end=None) for one in alternatives)))
        queries.append(Query(query_id, f"Question {number}?", tuple(made)))
        mixed[query_id] = replace(queries[-1], facts=tuple(now))
        for side, rank in enumerate(ranks):
            chunks = [Chunk(f"{ALONE} {place}") for place in range(3)]
            if rank is not None:
                chunks.insert(rank, Chunk(old[-1].text, doc_id=(old, new)[side][-1].id))
            hits[side][queries[-1].text] = chunks[:3]
    dataset = Dataset(tuple(queries), tuple(old))
    settings = {"metrics": ["rr", "recall", "ndcg"], "ks": (3,), "depth": "deep", "candidates": 3}
    before = evaluate(FakeRetriever(hits[0]), dataset, **settings)
    after = evaluate(FakeRetriever(hits[1]), by_text(dataset, new), **settings)
    update = LabelUpdate(dataset, tuple(new), tuple(passages))
    change = update.change(before, after, metric)
    assert change.total == pytest.approx(change.moved + change.died + change.system, abs=1e-12)
    assert [query for query, alive in zip(change.query_ids, change.in_both, strict=True) if not alive] == [
        *update.waiting
    ]
    alone = replace(after, dataset=replace(after.dataset, documents=()))  # the old passages are of other documents
    again = rescore(alone, labels=list(mixed.values()), metrics=[metric]).last_values(metric)
    np.testing.assert_allclose(change.updated, again, atol=1e-12)
    np.testing.assert_allclose(change.before, before.last_values(metric), atol=1e-12)


def shop(documents: Sequence[Document], labels: Dataset) -> Evaluation:
    chunks = rl.RecursiveChunker(1000, 100).split(documents)
    return evaluate(BM25Retriever(chunks), labels, metrics=["ndcg"], ks=(10,), progress=False)


@pytest.mark.slow
def test_the_same_system_over_renamed_files_and_moved_text_changed_nothing_but_labels() -> None:
    dataset = rl.load_dataset("shop_support")
    before = shop(dataset.documents, dataset)
    renamed = [
        Document(f"guide/{one.id}", one.text) if number % 3 == 0 else one
        for number, one in enumerate(dataset.documents)
    ]
    change = carried(dataset, renamed).change(before, shop(renamed, by_text(dataset, renamed)))
    assert change.metric == Metric("ndcg", 10)
    assert change.system == pytest.approx(0, abs=1e-12)
    assert change.moved == pytest.approx(change.total, abs=1e-12)
    assert change.moved < -0.1
    # Text moves too: every fourth file begins with what another file began with
    moved = [
        Document(one.id, f"{renamed[number - 1].text[:200]}\n\n{one.text}") if number % 4 == 0 else one
        for number, one in enumerate(renamed)
    ]
    change = carried(dataset, moved).change(before, shop(moved, by_text(dataset, moved)))
    assert change.moved < -0.1
    assert abs(change.system) < 0.02
    assert change.died == 0
    assert change.difference.n == len(change.query_ids)


def refused(update: LabelUpdate, before: object, after: object, metric: str | None = None) -> str:
    with pytest.raises(ConfigurationError) as caught:
        attribute_change(update, before, after, metric)  # type: ignore[arg-type]
    return str(caught.value)


def test_runs_that_are_not_of_these_labels_are_refused(update, before, after) -> None:
    assert "before" in refused(update, "runs/before", after)
    assert "ndcg@10" in refused(update, before, after, "ndcg@10")
    other = Dataset((Query("elsewhere", "Where is it?", (Fact((Passage(LINES["a"]),)),)),))
    assert "elsewhere" in refused(update, before, measured(other, {"elsewhere": [("x", "a")]}))
    renamed = Dataset((replace(LABELS.queries[0], text="What is a?"), *LABELS.queries[1:]), OLD)
    assert "moved" in refused(update, measured(renamed, BEFORE), after)
    assert "'before'" in refused(update, rescore(before, labels=by_text(LABELS, ()), metrics=["rr"], ks=[3]), after)
    assert "different rules" in refused(update, before, rescore(after, match="fuzzy", metrics=["rr"], ks=[3]))
    assert "over the new documents" in refused(update, after, before)
    assert "precision" in refused(update, before, after, "precision@3")


def test_a_metric_that_looks_deeper_than_the_new_candidates_is_refused(update, before) -> None:
    shallow = evaluate(
        FakeRetriever({query.text: [LINES["a"]] for query in LABELS}),
        by_text(LABELS, NEW),
        metrics=["rr"],
        ks=(1,),
        depth="deep",
        candidates=1,
    )
    assert "at most 1" in refused(update, before, shallow)
