"""Representative classes of each framework are run; `python -m tests.classes.page` runs all of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .cases import Case, Corpus
from .page import FRAMEWORKS, corpus_for_classes, lines_on_page
from .running import run

CASES = {case.key: case for cases in FRAMEWORKS.values() for case in cases}
REPRESENTATIVE = [
    next(case for case in cases if case.kind == kind)
    for cases in FRAMEWORKS.values()
    for kind in dict.fromkeys(case.kind for case in cases)
]
"""The first of each kind in each framework."""

pytestmark = [  # what these packages say of their own future
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::langchain_core._api.beta_decorator.LangChainBetaWarning"),
    pytest.mark.filterwarnings("ignore:'MultiRetriever' is an experimental component"),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    with corpus_for_classes(tmp_path_factory.mktemp("classes")) as made:
        yield made


@pytest.mark.parametrize("case", REPRESENTATIVE, ids=lambda case: f"{case.package}-{case.name}")
def test_a_class_is_run_and_its_row_is_what_was_seen(case: Case, corpus: Corpus) -> None:
    assert run(case, corpus).line == lines_on_page()[case.key], "written anew by `python -m tests.classes.page`"


def test_the_page_lists_exactly_the_cases() -> None:
    assert sorted(lines_on_page()) == sorted(CASES)
    assert len(CASES) == sum(map(len, FRAMEWORKS.values())), "two cases have one name"
