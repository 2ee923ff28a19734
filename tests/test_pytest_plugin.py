"""The plugin as other projects have it: from its entry point, in processes of its own where that matters."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import uuid

import pytest

LABELS = "".join(
    json.dumps({"id": f"q{n}", "query": f"Where is stone {n}?", "relevant": [f"stone number {n} lies at the ford"]})
    + "\n"
    for n in range(6)
)
# Each takes longer to load, in each process, than all that is tested here
WITHOUT_OTHERS = tuple(f"-pno:{name}" for name in ("langsmith_plugin", "hypothesispytest", "anyio", "pytest_cov"))
# The words are this session's own, so that no other test has embedded them
MODEL_TEST = """
    import json
    import os
    import time
    from pathlib import Path

    import pytest
    import raglift as rl
    from raglift.utilities.cache import counted
    from raglift.retrieval import models
    from raglift.adapters.embeddings import embedder_by_name

    WORKER = os.environ["PYTEST_XDIST_WORKER"]
    MODEL = embedder_by_name("minilm")


    @pytest.fixture(scope="session")
    def retriever():
        for _ in range(6000):  # the second begins when the first is done
            if WORKER != "gw1" or Path("gw0.json").exists():
                break
            time.sleep(0.05)
        with counted() as lookups:
            index = rl.build_index([rl.Chunk(f"stone number {n} of SESSION lies at the ford") for n in range(6)], MODEL)
        yield rl.DenseRetriever(index)
        made = models._load.cache_info().misses
        found = {"asked": lookups.asked, "found": lookups.found, "made": made}
        Path(f"{WORKER}.json").write_text(json.dumps(found))


    @pytest.mark.parametrize("number", range(3))
    @pytest.mark.retrieval(dataset="labels.jsonl", min={"hit_rate@10": 1.0})
    def test_search(raglift_evaluate, retriever, number):
        with counted() as lookups:
            evaluation = raglift_evaluate(retriever)
        assert lookups.found == lookups.asked or (WORKER, number) == ("gw0", 0)
        # What nobody has embedded needs the model itself
        rl.build_index([rl.Chunk(f"words of {WORKER} in SESSION, time {number}")], MODEL)
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An empty project with a labelled set, whose tests see no worker and no options of ours."""
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    (pytester.path / "labels.jsonl").write_text(LABELS, encoding="utf-8")
    return pytester


@pytest.mark.slow
def test_nothing_is_loaded_in_a_project_that_uses_nothing_of_it(project: pytest.Pytester) -> None:
    project.makeconftest(
        """
        import json, sys
        from pathlib import Path

        def pytest_unconfigure(config):
            Path("modules.json").write_text(json.dumps(sorted(sys.modules)))
        """
    )
    project.makepyfile("import pytest\n\n@pytest.mark.retrieval\ndef test_it():\n    pass\n")
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-W", "error", *WITHOUT_OTHERS]
    done = subprocess.run(command, cwd=project.path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    loaded = set(json.loads((project.path / "modules.json").read_text()))
    assert {name for name in loaded if name.partition(".")[0] == "raglift"} == {"raglift", "raglift.pytest_plugin"}
    assert not loaded & {"numpy", "pandas", "pydantic", "scipy", "yaml", "rich", "httpx", "langchain_core"}


@pytest.mark.slow
def test_the_mark_the_fixtures_and_the_options_are_described(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.makepyfile("def test_it():\n    pass\n")
    monkeypatch.delitem(sys.modules, "raglift.pytest_plugin")  # loaded anew, as in a process of its own
    marks = project.runpytest_inprocess("--markers").stdout.str()
    for argument in ("dataset", "min", "max", "baseline", "no_regression", "margin"):
        assert f"{argument}=" in marks
    result = project.runpytest_inprocess("--fixtures", "-q")
    result.stdout.fnmatch_lines(["raglift_dataset -- *", "raglift_evaluate -- *"])
    result = project.runpytest_inprocess("--help")
    result.stdout.fnmatch_lines(["*--raglift-update-baseline*", "*raglift_dataset (string)*"])


@pytest.mark.full
def test_workers_share_the_cache_and_each_makes_the_model_once(project: pytest.Pytester) -> None:
    session = uuid.uuid4().hex
    project.makepyfile(test_search=textwrap.dedent(MODEL_TEST).replace("SESSION", session))
    labels = LABELS.replace(" lies at", f" of {session} lies at").replace("is stone", f"in {session} is stone")
    (project.path / "labels.jsonl").write_text(labels, encoding="utf-8")
    result = project.runpytest_subprocess(
        *WITHOUT_OTHERS, "-n", "2", "--dist", "each", "-W", "error", "-p", "no:cacheprovider"
    )
    result.assert_outcomes(passed=6)
    first, second = (json.loads((project.path / f"gw{n}.json").read_text()) for n in range(2))
    assert first == {"asked": 6, "found": 0, "made": 1}
    assert second == {"asked": 6, "found": 6, "made": 1}
