"""Cells of different chunks are ranked by what is read of prompts of one size."""

import pytest

from raglift.metrics.computing import mean_title
from raglift.metrics.graded_measures import NDCG
from raglift.metrics.prompt_measures import PromptRecall, RecallArea
from raglift.report.sentences import short_name
from raglift.results.comparison import compare
from raglift.sweep.specification.record import Sweep, load_sweep
from raglift.sweep.view import sweep_view
from raglift.types.metric import Tokens

pytestmark = pytest.mark.slow

SMALL, LARGE = (f"recursive:{size}/0" for size in (150, 6000))
AREA = RecallArea @ Tokens(2000)
PARTS = {"dataset": "lighthouse", "chunkers": (SMALL, LARGE), "retrievers": ("bm25",)}


def sweep(folder, **options):
    return Sweep(**{**PARTS, **options}).run(folder, progress=False)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    return sweep(tmp_path_factory.mktemp("sweep") / "budget")


def test_cells_are_ranked_by_recall_up_to_2000_tokens(result):
    large, small = (next(one for one in result.finished if one.cell.chunker == name) for name in (LARGE, SMALL))
    assert large.value(NDCG @ 10) > small.value(NDCG @ 10) + 0.3
    assert result.primary == AREA
    assert result.best() is max((large, small), key=lambda one: one.value(AREA))
    assert result.fairness.decides


def test_the_text_and_the_page_say_what_decides(result):
    title, text = mean_title(AREA), str(result)
    assert text.startswith(f"lighthouse: 2 of 2 configurations measured\n40 labelled questions; by {title}; match")
    told = " ".join(text.split())
    assert f"- Chunks differ, so systems are compared by what is read: {title} is recall averaged" in told
    assert "10 hits are 42% of the index of recursive:6000/0 (24 chunks)." in text
    beside = ("tokens in 10 hits", "index", mean_title(PromptRecall @ Tokens(2000)), "HitRate@10")
    assert sweep_view(result).headline.columns[-4:] == beside
    assert "compared by what is read" in result.to_markdown()


def test_the_first_lines_say_who_finds_most_at_the_budget_where_it_is_another(tmp_path):
    found = Sweep(dataset="lighthouse", chunkers=("recursive:400/0", "recursive:1000/0"), retrievers=("bm25",)).run(
        tmp_path / "sizes", progress=False
    )
    advised = found.recommend()
    (most,) = [row for row in found.compared.of(PromptRecall @ Tokens(2000)) if row.system != advised.choice]
    assert advised.at_budget.mean < most.mean
    assert advised.most_at_budget == most
    assert f"{short_name(most.system)} finds most there, {most.mean:.0%}." in " ".join(str(found).split())


def test_the_comparison_of_the_cells_decides_by_the_same_metric(result):
    compared = result.compare()
    assert compared.primary == result.primary
    for row in compared.of(AREA):
        (cell,) = [one for one in result.finished if one.cell.name == row.system]
        assert row.mean == cell.value(AREA)
    folders = [str(path) for path in sorted((result.folder / "cells").iterdir())]
    assert compare(folders).primary == result.primary  # without the budget being kept in the cells
    assert compare(folders, primary=str(result.primary)).primary == result.primary


def test_a_metric_that_the_user_named_ranks_the_cells(tmp_path):
    named = sweep(tmp_path / "named", primary="ndcg@10")
    assert named.primary == NDCG @ 10
    assert named.best().cell.chunker == LARGE
    assert not named.fairness.decides
    assert any("not like for like" in warning for warning in named.compare().warnings)
    assert mean_title(named.fairness.area) in str(named)


def test_a_file_names_the_primary_metric_or_does_not(tmp_path):
    (tmp_path / "sweep.yaml").write_text("dataset: lighthouse\n")
    assert not load_sweep(tmp_path / "sweep.yaml").names_primary
    (tmp_path / "sweep.yaml").write_text("dataset: lighthouse\nprimary: ndcg@10\n")
    assert load_sweep(tmp_path / "sweep.yaml").names_primary
    assert load_sweep(tmp_path / "sweep.yaml") == Sweep(dataset="lighthouse")


def test_cells_whose_prompts_are_not_full_though_more_could_come_are_named(tmp_path):
    found = sweep(tmp_path / "short", systems={"few": few}, chunkers=(LARGE,))
    assert found.fairness.decides
    (name,) = [one.cell.name for one in found.finished if one.cell.system]
    ends = "Prompts that end before 2,000 tokens though more could come, so that the figures may be too low: "
    count = found.fairness.unfilled[name]
    assert count > 1
    assert f"{ends}{count:,} questions of {short_name(name)}" in " ".join(str(found).split())


def few(query):
    return [f"The lamp is lit at dusk, line {number} of the log." for number in range(2)]
