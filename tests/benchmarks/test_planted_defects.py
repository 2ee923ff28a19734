"""benchmarks/planted_defects.py: its cases are as they describe themselves."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

FAST = ("cut", "overlap", "language")
"""The kinds that ask no model."""


@pytest.fixture(scope="module")
def benchmark(script) -> Any:
    return script("planted_defects")


def test_there_are_five_cases_of_each_kind_of_questions_of_their_own(benchmark) -> None:
    cases = benchmark.cases()
    assert Counter(case.kind for case in cases) == dict.fromkeys(benchmark.KINDS, 5)
    assert len({case.name for case in cases}) == 60
    for case in cases:
        assert case.fact == len(case.defect.dataset.query(case.query_id).facts) - 1
        assert {case.query_id, *case.hard, *case.borderline} < set(case.defect.dataset.query_by_id)


def test_the_corpora_have_no_question_in_common(benchmark) -> None:
    ids = [name for corpus in ("ferry", "town", "bees") for name in benchmark.corpus(corpus).questions]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("kind", FAST)
def test_only_what_mends_a_case_finds_its_fact(benchmark, kind: str) -> None:
    for case in benchmark.cases([kind]):
        verdict = benchmark.verified(case)
        assert verdict.faults == ()
        assert verdict.unplanted


def test_the_run_of_a_system_of_raglifts_own_names_its_parts(benchmark) -> None:
    cases = benchmark.cases(["cut", "missing_document"])
    assert cases[0].evaluate().run.spec["parts"] == {
        "retriever": "bm25",
        "chunker": "recursive:400/40:characters",
        "reranker": "none",
    }
    assert "parts" not in cases[5].evaluate().run.spec


@pytest.mark.parametrize("kind", FAST)
def test_the_causes_of_what_was_planted_are_named(benchmark, kind: str) -> None:
    for case in benchmark.cases([kind]):
        assert benchmark.causes_of(case)[0] in benchmark.NAMED[kind], case.name
