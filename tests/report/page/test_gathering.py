"""The queries of a page hold what was measured: the same matches, ranks and ends as everywhere else."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.matching.matches import Direction
from raglift.metrics.graded_measures import NDCG
from raglift.metrics.rank_measures import RR
from raglift.report.page.gathering import drill_down
from raglift.report.page.query_browser import DrillDown, ShownHit, packed
from raglift.results.evaluation import Evaluation
from raglift.running.evaluation import evaluate
from raglift.testing.fakes import FakeReranker, FakeRetriever
from raglift.text.normalization import normalize
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Fact, Passage, Query
from raglift.types.metric import Metric

LOG = "The lamp is lit at dusk. The wick is trimmed at noon. The horn sounds twice a minute. The boat comes on Friday."
LAMP, WICK, HORN, BOAT = (sentence.strip() + "." for sentence in LOG.strip(".").split("."))


def span(words: str, grade: int = 1) -> Passage:
    start = LOG.index(words)
    return Passage(words, "log", start, start + len(words), grade=grade)


def overlap(start: int, end: int) -> Chunk:
    return Chunk(LOG[start:end], doc_id="log", start=start, end=end)


PIECES = [overlap(start, min(start + 40, len(LOG))) for start in range(0, len(LOG), 20)]
DATA = Dataset(
    (
        Query(
            "lamp", "When is it lit?", (Fact((span(LAMP, 2), span(WICK))), Fact((span("twice a minute"),))), ("easy",)
        ),
        Query("boat", "When does it come?", (Fact((span(BOAT),)),)),
        Query("fails", "What fails?", (Fact((span(HORN),)),)),
        Query("none", "What is not labelled?"),
        Query("open", "What is not answered?", (Fact((span(HORN),)),), answerable=False),
    ),
    (Document("log", LOG),),
)
RETRIEVED = {
    "When is it lit?": [(chunk, 1.0 - number / 10) for number, chunk in enumerate(PIECES[::-1])],
    "When does it come?": ["nothing", PIECES[0]],
    "What fails?": RuntimeError("no index"),
    "What is not labelled?": [PIECES[0]],
    "What is not answered?": [PIECES[3]],
}
RERANKER = FakeReranker({PIECES[0].text: 9.0, PIECES[3].text: 8.5})


@pytest.fixture(scope="module")
def measured() -> Evaluation:
    return evaluate(
        FakeRetriever(RETRIEVED),
        DATA,
        reranker=RERANKER,
        ks=(1, 3),
        candidates=6,
        retries=0,
        match="coverage",
        chunks=PIECES,
        metrics=("ndcg", "recall"),
    )


def gathered(evaluation: Evaluation, primary: Metric = NDCG @ 3) -> DrillDown:
    before, after = ("", evaluation.before), ("", evaluation.after)
    return drill_down({"": evaluation}, left=before, right=after, primary=primary)


def marked(drill: DrillDown, hit: ShownHit) -> list[str]:
    return [drill.chunks[hit.chunk].text[match.start : match.end] for match in hit.matches]


def test_a_page_of_one_system_has_its_stages_as_before_and_after(measured: Evaluation) -> None:
    drill = gathered(measured)
    assert [(view.system, view.stage, view.title) for view in drill.views] == [
        ("", "retrieve", "before (retrieve)"),
        ("", "rerank", "after (rerank)"),
    ]
    assert (drill.left, drill.right, drill.k, drill.notes) == (0, 1, 3, ())
    assert (drill.metrics, drill.primary) == (("NDCG@1", "NDCG@3", "Recall@1", "Recall@3"), 1)
    assert drill.match == "coverage: the hits so far must together cover 50% of a passage's characters"


def test_each_query_has_its_values_ranks_and_ends(measured: Evaluation) -> None:
    drill = gathered(measured)
    lamp, boat, fails, none, unanswered = drill.queries
    assert [query.id for query in drill.queries] == [query.id for query in DATA]
    assert (lamp.tags, lamp.facts[0]) == (("easy",), (span(LAMP, 2), span(WICK)))
    assert [view.facts for view in lamp.views] == [(5, 3), (1, 2)]
    assert [query.all_outcomes for query in drill.queries] == [
        (("found", "found"),),
        (("not_retrieved",),),
        (("failed",),),
        ((),),
        ((),),
    ]
    assert fails.views[1].error is not None
    assert "no index" in fails.views[1].error
    assert (fails.views[0].hits, fails.views[0].values) == ((), (0.0,) * 4)
    assert boat.views[0].error is None
    for query in (none, unanswered):
        assert all(math.isnan(value) for value in query.views[0].values)
    assert (unanswered.answerable, none.answerable) == (False, True)
    for place, stage in enumerate(measured.scores.stages):
        assert lamp.views[place].values[1] == measured.scores.of(stage, NDCG @ 3)[0]


def test_the_matched_characters_are_those_of_the_passage(measured: Evaluation) -> None:
    drill = gathered(measured)
    first, second = drill.queries[0].views[1].hits[:2]
    assert [marked(drill, hit) for hit in (first, second)] == [[LAMP, WICK[:15]], ["twice a minute"]]
    lamp, wick = first.matches
    assert lamp[:6] == (0, 0, Direction.CHUNK_CONTAINS_PASSAGE, True, True, 1.0)
    # Fifteen characters are too few to make a hit relevant, and less than half of the passage
    assert wick[:5] == (0, 1, Direction.OVERLAP, False, False)
    assert wick.covered == pytest.approx(15 / len(WICK))


def test_it_tells_what_explain_tells(measured: Evaluation) -> None:
    drill = gathered(measured)
    for query in drill.queries:
        for view, shown in zip(drill.views, query.views, strict=True):
            explained = measured.explain(query.id, stage=view.stage)
            assert shown.returned == len(explained.hits) == len(shown.hits)
            for hit, known in zip(shown.hits, explained.hits, strict=True):
                chunk = drill.chunks[hit.chunk]
                assert (hit.rank, hit.score, chunk.text) == (known.hit.rank, known.hit.score, known.hit.chunk.text)
                assert [
                    (match.fact + 1, match.passage + 1, Direction.NAMES[match.direction], match.counts, match.satisfies)
                    for match in hit.matches
                ] == [(one.fact, one.passage, one.direction, one.counts, one.satisfies) for one in known.overlaps]


def test_several_systems_are_views_side_by_side(ranked: Callable[..., Evaluation]) -> None:
    dense, reranked = ranked([1, 3, None]), ranked([2, 1, None], reranked=[1, 2, None])
    drill = drill_down(
        {"dense": dense, "reranked": reranked}, left=("dense", "retrieve"), right=("reranked", "rerank"), primary=RR @ 1
    )
    assert [view.title for view in drill.views] == ["dense", "reranked: retrieve", "reranked: rerank"]
    assert (drill.systems, drill.left, drill.right, drill.k) == (("dense", "reranked"), 0, 2, 1)
    assert [query.all_outcomes for query in drill.queries] == [
        (("found",), ("found",)),
        (("below_k",), ("below_k",)),
        (("missed",), ("missed",)),
    ]
    assert [[view.facts for view in query.views] for query in drill.queries[:2]] == [
        [(1,), (2,), (1,)],
        [(3,), (1,), (2,)],
    ]


def test_only_queries_and_metrics_that_all_systems_have_are_shown(ranked: Callable[..., Evaluation]) -> None:
    long, short = ranked([1, 2, 3]), ranked([1, 2], metrics=("rr",))
    drill = drill_down({"a": long, "b": short}, left=("a", "retrieve"), right=("b", "retrieve"), primary=RR @ 3)
    assert [query.id for query in drill.queries] == ["q0000", "q0001"]
    assert drill.metrics == ("RR@1", "RR@3")
    assert any("was not asked" in note for note in drill.notes)


@pytest.mark.slow
def test_hostile_texts_are_marked_where_they_are() -> None:
    """Half a surrogate pair cannot be packed, and is another character: one for one."""
    words = "</script>\x00 the\u2028lamp \ud83d is \U0001f600 lit \u202e at dusk\udcff!"
    texts = [f"İ\ud800 {'x' * 100_000} {words}{words} and more", words[:-4], words]
    data = Dataset((Query("q\udcff", "?", (Fact((Passage(words),)),)),))
    evaluation = evaluate(FakeRetriever({"?": texts}), data, ks=(2,), metrics=("ndcg",))
    drill = gathered(evaluation, primary=NDCG @ 2)
    content = json.loads(gzip.decompress(packed(drill)))
    hits = content["queries"][0]["views"][0]["hits"]
    shown = [content["chunks"][chunk][3][found[0][6] : found[0][7]] for _, chunk, _, found in hits]
    whole = words.replace("\ud83d", "\ufffd").replace("\udcff", "\ufffd")
    assert shown == [whole, whole[:-4], whole]


overlaps = st.tuples(st.integers(0, len(LOG) - 1), st.integers(1, 60)).map(
    lambda place: overlap(place[0], min(sum(place), len(LOG)))
)
bare = overlaps.map(lambda chunk: Chunk(chunk.text.upper()))


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.sampled_from([LAMP, WICK, HORN, BOAT, LOG[10:70]]), min_size=1, max_size=3),
    st.lists(overlaps | bare, max_size=5),
    st.sampled_from(["containment", "coverage", "fuzzy"]),
    st.integers(0, 3000),
)
def test_every_hit_that_matches_is_there_and_its_characters_say_what_was_covered(
    labels: list[str], retrieved: list[Chunk], match: str, room: int
) -> None:
    data = Dataset((Query("q", "?", tuple(Fact((span(words),)) for words in labels)),), (Document("log", LOG),))
    evaluation = evaluate(FakeRetriever({"?": retrieved}), data, ks=(2,), match=match, metrics=("ndcg",))
    drill = drill_down(
        {"": evaluation}, left=("", "retrieve"), right=("", "retrieve"), primary=NDCG @ 2, max_bytes=room
    )
    found = evaluation.match_table[0].overlaps
    shown = [(hit, match) for hit in drill.queries[0].views[0].hits for match in hit.matches]
    assert [(hit.rank, match.fact) for hit, match in shown] == list(
        zip(found.rank.tolist(), found.fact.tolist(), strict=True)
    )
    for (hit, one), start, end in zip(shown, found.start.tolist(), found.end.tolist(), strict=True):
        assert drill.chunks[hit.chunk].left_out == 0
        if match != "fuzzy":
            said = drill.chunks[hit.chunk].text[one.start : one.end]
            assert normalize(said) == normalize(labels[one.fact][start:end])
