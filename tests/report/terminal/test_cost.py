"""Cost against quality, as text."""

import dataclasses
import math

import pytest

from raglift.report.format import bytes_text, seconds_text
from raglift.running.evaluation import evaluate
from raglift.testing.fakes import FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.rankings import Cost, IndexCost, StageLatency

RETRIEVE = StageLatency("retrieve", 50, 0.0041, 0.00602)
RERANK = StageLatency("rerank", 48, 0.21, 1.2549, failed=2)
WHOLE = StageLatency("whole", 48, 0.2143, 1.26, failed=2)
MACHINE = {"processor": "A Fast One", "cores": "2"}


def text_of(cost, environment=MACHINE):
    data = Dataset.from_dict({"who kept the light?": ["Halvard kept the light"]})
    evaluation = evaluate(FakeRetriever({"who kept the light?": ["Halvard kept the light"]}), data, ks=(1,))
    spec = {**evaluation.run.spec, "environment": environment}
    run = dataclasses.replace(evaluation.run, cost=cost, spec=spec)
    return dataclasses.replace(evaluation, run=run).to_text()


GOLDEN = """\
Cost
rerank: 2 of these questions failed and are left out
Latency of 50 questions, one at a time, models warm, cache off, on A Fast One (2 cores)
stage         p50      p95  questions/s in the run
──────────────────────────────────────────────────
retrieve  4.10 ms  6.02 ms                     240
rerank     210 ms   1.25 s          from the cache
together   214 ms   1.26 s
"""


def test_everything_that_is_known_is_shown():
    index = IndexCost(1200, 1100, 1100, 3.25, 1_843_200)
    assert GOLDEN in text_of(Cost((RETRIEVE, RERANK), WHOLE, index, {"retrieve": 240.4, "rerank": None}))


@pytest.mark.slow
def test_nothing_is_shown_of_what_is_not_known():
    assert text_of(None) == text_of(Cost())
    assert "Cost" not in text_of(None)


def test_an_index_that_was_not_timed_says_why():
    shown = " ".join(text_of(Cost(index=IndexCost(1200, 1100, 100, None, 1_843_200))).split())
    assert "Index: 1,200 chunks, 1.8 MB (build time unknown: 1,000 of 1,100 embeddings were cached)" in shown


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.000_42, "0.42 ms"),
        (0.009_996, "10.0 ms"),
        (0.999_4, "999 ms"),
        (0.999_6, "1.00 s"),
        (1234.5, "1,234 s"),
        (math.nan, "–"),
    ],
)
def test_times_have_three_digits(seconds, text):
    assert seconds_text(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (999_960, "1.0 MB"),
        (10**12, "1,000.0 GB"),
    ],
)
def test_sizes_are_decimal(count, text):
    assert bytes_text(count) == text


def test_queries_that_failed_in_the_run_are_said_to_be_missing():
    data = Dataset.from_dict({"who kept the light?": ["Halvard kept the light"], "why?": ["because of the fog"]})
    table = {"who kept the light?": ["Halvard kept the light"], "why?": RuntimeError("down")}
    shown = str(evaluate(FakeRetriever(table), data, ks=(1,), latency=2, retries=0))
    assert "Latency of 1 question, one at a time" in shown
    assert "\nQuestions that failed in the run are not among these: 1\n" in shown
    assert "not among these" not in str(evaluate(FakeRetriever(table), data, ks=(1,), retries=0))
