"""A project of a user's, with a labelled set of five queries and a retriever that remembers what it was asked."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable

import pytest

import raglift as rl
from raglift.testing.fakes import FakeRetriever

STONES = 5
LABELS = "".join(
    json.dumps(
        {"id": f"stone-{n}", "query": f"Where is stone {n}?", "relevant": [f"stone number {n} lies at the ford"]}
    )
    + "\n"
    for n in range(STONES)
)
SHOP = """
    import os
    from pathlib import Path

    from raglift.testing.fakes import FakeRetriever

    FILLER = ["nothing to the point, line one", "nothing to the point, line two"]


    class Search(FakeRetriever):
        '''Knows the first stones, at rank 2, and writes down each query that it is asked.'''

        def __init__(self, known=3):
            answers = {f"Where is stone {n}?": [FILLER[0], f"stone number {n} lies at the ford"] for n in range(known)}
            super().__init__({f"Where is stone {n}?": FILLER for n in range(5)} | answers)

        def retrieve_one(self, query, k):
            with Path(f"asked-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}.txt").open("a") as file:
                file.write(query + "\\n")
            return super().retrieve_one(query, k)
"""


@pytest.fixture(scope="session")
def imported(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Import what is imported late: runs in this process forget what they import, and NumPy allows no second time."""
    data = rl.Dataset.from_dict({"Where is the stone?": ["the stone lies at the ford"]})
    evaluation = rl.evaluate(FakeRetriever({}), data, latency=1)
    baseline = rl.load_evaluation(evaluation.save(tmp_path_factory.mktemp("imported") / "run"))
    assert str(rl.gate(evaluation, minimum={"rr@3": 0.5}, baseline=baseline, no_regression=["rr@3"]))


@pytest.fixture
def project(pytester: pytest.Pytester, imported: None, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """The project, as the working folder: labels.jsonl and shop.py."""
    (pytester.path / "labels.jsonl").write_text(LABELS, encoding="utf-8")
    pytester.makepyfile(shop=SHOP)
    pytester.syspathinsert()
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    return pytester


@pytest.fixture
def run(project: pytest.Pytester) -> Callable[..., pytest.RunResult]:
    """Run a test file of the project in this process, with warnings as errors."""

    def run_tests(code: str, *options: str) -> pytest.RunResult:
        heading = "import pytest\nimport raglift as rl\nfrom shop import FILLER, Search\n\n"
        project.makepyfile(test_search=heading + textwrap.dedent(code))
        return project.runpytest_inprocess("-W", "error", *options)

    return run_tests


@pytest.fixture
def asked(project: pytest.Pytester) -> Callable[[], dict[str, list[str]]]:
    """Return what each worker's retriever was asked since the last call."""

    def read() -> dict[str, list[str]]:
        found = {}
        for path in sorted(project.path.glob("asked-*.txt")):
            found[path.stem.removeprefix("asked-")] = path.read_text(encoding="utf-8").splitlines()
            path.unlink()
        return found

    return read
