"""Every class that can be built here is run; docs/reference/classes.md says what was seen."""

from __future__ import annotations

import os

import pytest

from .case import Case
from .corpus import Corpus
from .frameworks import CASES, FRAMEWORKS
from .running import Row, run
from .table import WRITE, generated, lines_on_page, read_generated

pytestmark = [  # what these packages say of their own future
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::langchain_core._api.beta_decorator.LangChainBetaWarning"),
    pytest.mark.filterwarnings("ignore:'MultiRetriever' is an experimental component"),
]
writing = pytest.mark.skipif(WRITE in os.environ, reason="the page is being written")


@pytest.mark.slow
def marked(cases: list[Case]) -> list[object]:
    """Let CI run the first class of each kind in each framework, and `make full` the others too."""
    params, seen = [], set()
    for case in cases:
        kind = (case.package.partition("-")[0], case.kind)
        marks = pytest.mark.full if kind in seen and WRITE not in os.environ else pytest.mark.slow
        seen.add(kind)
        params.append(pytest.param(case, marks=marks, id=f"{case.package}-{case.name}"))
    return params


@pytest.mark.parametrize("case", marked(CASES))
def test_a_class_is_run_and_its_row_is_what_was_seen(case: Case, corpus: Corpus, rows: dict[str, Row]) -> None:
    rows[case.key] = run(case, corpus)
    if WRITE not in os.environ:
        found = lines_on_page().get(case.key)
        assert found == rows[case.key].line, "written anew by `python tests/classes/table.py`"


@writing
def test_the_page_lists_exactly_the_cases() -> None:
    assert read_generated() == generated(lines_on_page(), FRAMEWORKS)


def test_cases_have_names_of_their_own() -> None:
    names = [case.key for case in CASES]
    assert sorted(set(names)) == sorted(names)
