from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import raglift

FRAMEWORKS = (
    "bm25s",
    "faiss",
    "langchain",
    "langchain_core",
    "langchain_text_splitters",
    "llama_index",
    "numpy",
    "pandas",
    "sentence_transformers",
    "torch",
    "transformers",
)


def modules_after(code: str) -> set[str]:
    """Run code in a new interpreter and return the top-level modules that it imported."""
    script = (
        f"import sys\n{code}\nsys.stdout.write('\\n' + ' '.join({{name.partition('.')[0] for name in sys.modules}}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_the_public_names_are_few_sorted_and_all_there() -> None:
    assert raglift.__all__ == sorted(raglift.__all__)
    assert len(raglift.__all__) <= 30
    assert all(getattr(raglift, name) is not None for name in raglift.__all__)
    assert set(raglift.__all__) <= set(dir(raglift))


@pytest.mark.slow
def test_signatures_name_every_option() -> None:
    evaluation = {f"Evaluation.{name}": getattr(raglift.Evaluation, name) for name in dir(raglift.Evaluation)}
    offered = {name: getattr(raglift, name) for name in raglift.__all__} | {"Call.of": raglift.Call.of} | evaluation
    for name, offer in offered.items():
        if inspect.isfunction(offer) or inspect.ismethod(offer):
            kinds = {each.kind for each in inspect.signature(offer).parameters.values()}
            assert inspect.Parameter.VAR_KEYWORD not in kinds, name
    evaluate, load = inspect.signature(raglift.evaluate).parameters, inspect.signature(raglift.load_dataset).parameters
    assert list(evaluate)[:3] == ["system", "dataset", "reranker"]
    assert {"ks", "metrics", "chunks", "depth", "latency"} <= set(evaluate)
    assert {"format", "split", "columns"} <= set(load)
    assert all(f"    {name}: " in str(raglift.evaluate.__doc__) for name in evaluate)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(raglift, "evaluate_all")


def test_importing_raglift_imports_no_framework() -> None:
    assert not modules_after("import raglift") & set(FRAMEWORKS)


@pytest.mark.slow
def test_help_imports_no_framework() -> None:
    code = "import raglift.cli\nsys.argv = ['raglift', '--help']\ntry: raglift.cli.main()\nexcept SystemExit: pass"
    assert not modules_after(code) & set(FRAMEWORKS)


@pytest.mark.slow
def test_scoring_saved_rankings_needs_neither_torch_nor_a_framework() -> None:
    code = (
        "import raglift as rl\nfrom raglift.testing import FakeRetriever\n"
        "data = rl.Dataset.from_dict({'q': ['the text that answers it']})\n"
        "str(rl.evaluate(FakeRetriever({'q': ['the text that answers it']}), data))"
    )
    heavy = set(FRAMEWORKS) - {"numpy", "pandas"}
    assert not modules_after(code) & heavy
