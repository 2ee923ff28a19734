"""The pytest plugin, loaded in every project that has raglift installed: only options, a mark and fixtures.

Nothing else of raglift is imported until a test uses one of them.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from raglift.apps.pytest_integration.evaluating import Evaluate
    from raglift.types.dataset import Dataset


__all__: list[str] = []

_MARK = (
    "retrieval(dataset=None, min={}, max={}, baseline=None, no_regression=(), margin=0.0): what a test expects of the "
    'system that it hands to raglift_evaluate: the labelled set, as dataset="lighthouse" or a path; the least and the '
    'most of each figure, as min={"recall@5": 0.8}, max={"p95_latency": "500ms"}; metrics that may not get worse than '
    'in a saved baseline, as no_regression=["ndcg@10"].'
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and the setting."""
    group = parser.getgroup("raglift", "retrieval, measured by raglift")
    group.addoption(
        "--raglift-update-baseline",
        action="store_true",
        help="save what is measured as the baselines that tests compare with, instead of comparing",
    )
    parser.addini("raglift_dataset", "the labelled set of tests whose mark names none: a name, or a path", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Describe the mark."""
    config.addinivalue_line("markers", _MARK)


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Read what a test expects while it is collected: a mark that cannot be used is an error of collection."""
    # Without arguments the mark says nothing: others may have one of that name, to choose tests by
    marks = metafunc.definition.iter_markers("retrieval")
    if "raglift_evaluate" in metafunc.fixturenames or any(mark.args or mark.kwargs for mark in marks):
        from raglift.apps.pytest_integration.evaluating import check_mark

        check_mark(metafunc)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
    """Fail a test that held nothing to the bounds of its mark."""
    result = yield
    if "raglift_evaluate" in pyfuncitem.fixturenames:
        from raglift.apps.pytest_integration.evaluating import require_call

        require_call(pyfuncitem)
    return result


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List the baselines that were saved, also by the workers of pytest-xdist."""
    if terminalreporter.config.getoption("--raglift-update-baseline"):
        from raglift.apps.pytest_integration.evaluating import saved_lines

        lines = saved_lines(terminalreporter.stats)
        terminalreporter.section("retrieval baselines")
        for line in lines or ["none was saved"]:
            terminalreporter.write_line(line)


@pytest.fixture
def raglift_dataset(request: pytest.FixtureRequest) -> Dataset:
    """The labelled set of the test's mark, else of the setting raglift_dataset; loaded once."""
    from raglift.apps.pytest_integration.evaluating import dataset_of_test

    return dataset_of_test(request.node)


@pytest.fixture
def raglift_evaluate(request: pytest.FixtureRequest) -> Evaluate:
    """Measure a system as rl.evaluate does, and fail unless it does what the test's mark expects."""
    from raglift.apps.pytest_integration.evaluating import Evaluate

    return Evaluate(request)
