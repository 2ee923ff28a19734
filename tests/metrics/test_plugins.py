"""Metrics of installed packages: real ones, made here, with their entry points, in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

Run = Callable[..., subprocess.CompletedProcess[str]]

GOOD = """
    from raglift.metrics.custom import metric

    @metric("lead", title="Lead", formula="1 if the first hit is relevant", source="our own page")
    def lead(ranking):
        return ranking.relevant[0]

    @metric("tail")
    def tail(ranking):
        '''1 if the last hit is relevant.'''
        return ranking.relevant[-1]
"""
LINE = '{"id": "q1", "query": "Who keeps the lamp?", "relevant": ["the keeper trims the lamp"]}'
CLI = "from raglift.cli import main; main()"


def install(folder: Path, name: str, module: str, source: str, entries: str) -> None:
    """Lay out a package as an installer does: its module, and its metadata."""
    (folder / f"{module}.py").write_text(textwrap.dedent(source), encoding="utf-8")
    info = folder / f"{name.replace('-', '_')}-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[raglift.metrics]\n{textwrap.dedent(entries)}\n", encoding="utf-8")
    (info / "RECORD").write_text("", encoding="utf-8")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with a package whose one entry point makes two metrics."""
    folder = tmp_path / "site"
    folder.mkdir()
    install(folder, "our-metrics", "our_metrics", GOOD, "lead = our_metrics:lead")
    return folder


@pytest.fixture
def run(site: Path, tmp_path: Path) -> Run:
    """Run Python with the package installed."""

    def program(code: str, *arguments: object, installed: bool = True) -> subprocess.CompletedProcess[str]:
        paths = [*([str(site)] if installed else []), *filter(None, sys.path)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "200"}
        command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)

    return program


def test_entry_points_are_read_for_unknown_names_only(run: Run) -> None:
    found = run("""
        import sys
        import raglift as rl
        from raglift.metrics.parsing import parse
        assert rl.score_rankings({"q": ["a"]}, {"q": ["a"]}, ["ndcg@1", "rbp(p=0.5)"]).mean("ndcg@1") == 1
        assert "our_metrics" not in sys.modules
        scores = rl.score_rankings({"q": ["a", "x"]}, {"q": ["a"]}, ["Lead@1", "tail"])
        assert (scores.mean("lead@1"), scores.mean("tail")) == (1, 0)
        print(scores)
    """)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.startswith("Lead@1  1.0000  n = 1\ntail    0.0000")


def test_the_name_of_the_entry_point_need_not_be_that_of_the_metric(run: Run) -> None:
    found = run("from raglift.metrics.parsing import parse; print(parse('tail@3'))")
    assert (found.stdout, found.stderr) == ("tail@3\n", "")


@pytest.mark.full
def test_the_command_line_lists_and_uses_them(run: Run, tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text(LINE + "\n", encoding="utf-8")
    (tmp_path / "rag.py").write_text(
        "def search(question): return ['the keeper trims the lamp', 'x']", encoding="utf-8"
    )
    listed = json.loads(run(CLI, "metrics", "--json").stdout)["measures"]
    by_name = {each["name"]: each for each in listed}
    assert by_name["lead"]["origin"] == by_name["tail"]["origin"].replace("tail", "lead")
    assert by_name["lead"]["origin"] == "our-metrics 1.2: our_metrics:lead"
    assert by_name["lead"]["source"] == "our own page"
    shown = run(CLI, "metrics", "lead").stdout
    assert "lead: Lead" in shown
    assert "from: our-metrics 1.2: our_metrics:lead" in shown
    asked = ("evaluate", "queries.jsonl", "--system", "rag:search", "--metrics", "lead,ndcg", "-k", "2")
    done = run(CLI, *asked, "--output", "saved")
    assert done.returncode == 0, done.stderr
    assert "Lead@2" in done.stdout
    elsewhere = run(CLI, "rescore", "saved", "--metrics", "ndcg", installed=False)
    assert elsewhere.returncode == 0, elsewhere.stderr
    refused = run(CLI, "rescore", "saved", installed=False)
    assert refused.returncode == 2
    assert "our-metrics 1.2: our_metrics:lead" in refused.stderr
    assert "not installed here" in refused.stderr
    known = "import raglift as rl; print(rl.load_evaluation('saved').scores.mean('retrieve', 'lead@2'))"
    assert run(known, installed=False).stdout == "1.0\n"
    assert "Lead@2" in run("import raglift as rl; print(rl.load_evaluation('saved'))", installed=False).stdout


def test_what_was_retrieved_survives_a_metric_that_fails(run: Run, site: Path, tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text(LINE + "\n", encoding="utf-8")
    (tmp_path / "rag.py").write_text(
        "def search(question): return ['the keeper trims the lamp', 'x']", encoding="utf-8"
    )
    broken = (
        "from raglift.metrics.custom import metric\n@metric('first')\ndef first(ranking): return ranking.relevant[7]"
    )
    install(site, "first-metrics", "first_metrics", broken, "first = first_metrics:first")
    asked = (
        "evaluate",
        "queries.jsonl",
        "--system",
        "rag:search",
        "--metrics",
        "first",
        "-k",
        "2",
        "--output",
        "saved",
    )
    refused = run(CLI, *asked)
    assert refused.returncode == 2
    assert "first@2, query 'q1': the metric's own function failed: IndexError" in refused.stderr
    again = "raglift rescore saved --metrics first -k 2"
    assert again in refused.stderr
    (site / "first_metrics.py").write_text(broken.replace("[7]", "[0]"), encoding="utf-8")
    scored = run(CLI, *again.split()[1:])
    assert (scored.returncode, scored.stderr) == (0, "")
    assert "first@2" in scored.stdout


def test_one_that_cannot_be_imported_is_warned_of_once_and_breaks_nothing(run: Run, site: Path) -> None:
    install(site, "broken-metrics", "broken_metrics", "import nothing_like_it", "early = broken_metrics:early")
    install(site, "rude-metrics", "rude_metrics", "raise SystemExit(3)", "rude = rude_metrics:rude")
    install(site, "odd-metrics", "odd_metrics", "def odd(ranking): return 1", "odd = odd_metrics:odd")
    install(
        site,
        "same-metrics",
        "same_metrics",
        "from raglift.metrics.custom import metric\n@metric('ndcg')\ndef f(ranking): return 1",
        "ndcg = same_metrics:f",
    )
    found = run("""
        import warnings
        from raglift.metrics.registry import all_measures
        from raglift.metrics.parsing import parse
        assert str(parse("ndcg@3")) == "ndcg@3"
        for _ in range(2):
            names = [measure.name for measure in all_measures()]
            assert names[-2:] == ["lead", "tail"], names
            try:
                parse("leed@3")
            except Exception as error:
                print(error)
    """)
    assert found.returncode == 0, found.stderr
    assert found.stdout.count("found 'leed' (did you mean 'lead'?)") == 2
    assert found.stderr.count("is left out") == 4
    for told in (
        (
            "the metric 'early' of broken-metrics 1.2 (broken_metrics:early) is left out: it cannot be loaded: "
            "ModuleNotFoundError: No module named 'nothing_like_it'"
        ),
        "the metric 'rude' of rude-metrics 1.2 (rude_metrics:rude) is left out: it cannot be loaded: SystemExit: 3",
        (
            "the metric 'odd' of odd-metrics 1.2 (odd_metrics:odd) is left out: found a function; expected what the "
            "decorator raglift.metrics.metric returns"
        ),
        (
            "the metric 'ndcg' of same-metrics 1.2 (same_metrics:f) is left out: it cannot be loaded: "
            "ConfigurationError: metric: found the name 'ndcg', by which raglift reads 'ndcg'; choose another"
        ),
    ):
        assert told in found.stderr


def test_two_packages_with_one_name(run: Run, site: Path) -> None:
    install(site, "a-second", "a_second", GOOD, "lead = a_second:lead")
    found = run(
        "from raglift.metrics.registry import all_measures; print([m.origin for m in all_measures() if m.origin])"
    )
    assert found.returncode == 0
    assert found.stdout.count(": ") == 2
    assert (
        found.stderr.count("is left out: it cannot be loaded: ConfigurationError: metric: found the name 'lead'") == 1
    )


def test_a_sweep_and_a_metric_of_a_module_that_was_imported(run: Run) -> None:
    found = run("""
        import our_metrics, raglift as rl
        from raglift.metrics.registry import all_measures
        print([measure.origin for measure in all_measures() if measure.origin])
        from raglift.sweep.specification.values import metric
        print(metric("Lead@3"))
    """)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.splitlines() == ["['our-metrics 1.2: our_metrics:lead', 'our_metrics:tail']", "lead@3"]
