"""Which adapter owns an object: built-in ones first, then those of installed packages, by their entry points."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from raglift.adapters.base import Adapter, accepted, adapter_of, built_in, packages
from raglift.errors import UnsupportedSystem

Run = Callable[..., subprocess.CompletedProcess[str]]

ACME = """
    class Found:
        def __init__(self, text, points): self.text, self.points = text, points

    class Index:
        texts = ["the keeper trims the lamp", "the ferry leaves at noon"]
        def find(self, question, most): return [Found(text, 1.0) for text in self.texts][:most]
        def __call__(self, question): raise AssertionError("asked as a function")

    class Sorter: pass

    class Own(dict): pass
"""
ADAPTER = """
    from raglift.adapters.stages import RetrieveStage, RerankStage
    from raglift.adapters.base import Adapter, is_from
    from raglift.records.documents import Chunk
    from raglift.records.rankings import Ranking

    class AcmeAdapter(Adapter):
        name = "Acme"
        packages = ("acme-raglift",)

        def owns(self, obj): return is_from(obj, "acme")
        def retriever_stages(self, system, *, as_deployed=False, doc_key=None):
            return [RetrieveStage(AcmeRetriever(system), "Acme index")]
        def chunk_and_score(self, result, doc_key=None):
            return Chunk(result.text), result.points
        def chunks(self, system, *, doc_key=None):
            return [Chunk(text) for text in system.texts]

    class AcmeRetriever:
        def __init__(self, index): self.index = index
        def retrieve_one(self, query, k):
            return Ranking.of(adapter.chunk_and_score(found) for found in self.index.find(query, k))

    adapter = AcmeAdapter()
"""


def install(folder: Path, name: str, module: str, source: str, entries: str) -> None:
    """Lay out a package as an installer does: its module, and its metadata."""
    (folder / f"{module}.py").write_text(textwrap.dedent(source), encoding="utf-8")
    info = folder / f"{name.replace('-', '_')}-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[raglift.adapters]\n{textwrap.dedent(entries)}\n", encoding="utf-8")
    (info / "RECORD").write_text("", encoding="utf-8")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with a framework."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "acme.py").write_text(textwrap.dedent(ACME), encoding="utf-8")
    return folder


@pytest.fixture
def run(site: Path, tmp_path: Path) -> Run:
    """Run Python with what is in the folder installed."""

    def program(code: str) -> subprocess.CompletedProcess[str]:
        paths = os.pathsep.join([str(site), *filter(None, sys.path)])
        environment = os.environ | {"PYTHONPATH": paths, "COLUMNS": "200"}
        command = [sys.executable, "-c", textwrap.dedent(code)]
        return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)

    return program


@pytest.mark.slow
def test_the_adapter_of_an_installed_package_is_used_for_its_frameworks_objects(run: Run, site: Path) -> None:
    install(site, "acme-raglift", "acme_raglift", ADAPTER, "acme = acme_raglift:adapter")
    found = run("""
        import json, sys, acme, raglift as rl
        data = rl.Dataset.from_dict({"Who?": ["the keeper trims the lamp"], "When?": ["the ferry"]})
        rl.evaluate(lambda query: ["a text"], data, ks=(1,))
        assert "acme_raglift" not in sys.modules
        evaluation = rl.evaluate(acme.Index(), data, ks=(1, 2), metrics=["recall"])
        by_function = rl.evaluate(lambda query: acme.Index().find(query, 2), data, ks=(1, 2), metrics=["recall"])
        assert by_function.to_frame().equals(evaluation.to_frame())
        run = evaluation.run
        print(json.dumps([run.stages[0].system, run.inventory.chunks, run.spec["environment"]["acme-raglift"]]))
        try:
            rl.evaluate(acme.Index(), data, reranker=acme.Sorter())
        except rl.errors.UnsupportedSystem as error:
            print(error)
    """)
    assert (found.returncode, found.stderr) == (0, "")
    first, second = found.stdout.splitlines()
    assert json.loads(first) == ["Acme index", 2, "1.2"]
    assert second == "reranker: found a Sorter; the adapter of Acme knows no rerankers"


BROKEN = {
    "cannot be imported": ("import nothing_like_it", "ModuleNotFoundError: No module named 'nothing_like_it'"),
    "exits": ("raise SystemExit(3)", "SystemExit: 3"),
    "a function": ("def adapter(obj): return obj", "found a function without name, owns, retriever_stages"),
    "a class": (
        f"{ADAPTER}\n    adapter = AcmeAdapter",
        "found the class AcmeAdapter; expected an object",
    ),
    "asks": (ADAPTER.replace('is_from(obj, "acme")', "obj.nothing"), "owns() raised AttributeError"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", BROKEN)
def test_one_that_fails_is_named_with_its_package_and_stops_nobody(run: Run, site: Path, kind: str) -> None:
    source, told = BROKEN[kind]
    install(site, "acme-raglift", "acme_raglift", source, "acme = acme_raglift:adapter")
    found = run("""
        import acme, raglift as rl, sys, warnings
        from raglift.adapters.adapt import adapt_reranker, adapt_system
        from raglift.adapters.functions import chunk_and_score
        assert len(adapt_system(len)) == 1
        assert "acme_raglift" not in sys.modules
        for refused in (lambda: adapt_system(acme.Own()), lambda: adapt_reranker(acme.Sorter()),
                        lambda: chunk_and_score(acme.Found("x", 1))):
            try:
                refused()
            except rl.errors.ConfigurationError as error:
                print(error)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert len(adapt_system(acme.Index())) == 1
        print(*(warning.message for warning in caught))
    """)
    assert found.returncode == 0, found.stderr
    lines = found.stdout.splitlines()
    assert len(lines) == 4
    for line in lines:
        assert "the adapter 'acme' of acme-raglift 1.2 (acme_raglift:adapter) failed: " + told in line
    assert lines[0].startswith("system: found a Own; expected a LangChain")
    assert lines[1].startswith("reranker: found a Sorter; expected a name")
    assert lines[3].startswith("Index is called as a function, because the adapter 'acme'")


def test_packages_for_other_frameworks_are_never_loaded(run: Run, site: Path) -> None:
    install(site, "other-raglift", "other_raglift", "raise SystemExit('loaded')", "other = other_raglift:adapter")
    found = run("""
        import acme, sys
        from raglift.adapters.adapt import adapt_system
        assert len(adapt_system(acme.Index())) == 1
        try:
            adapt_system(acme.Sorter())
        except Exception as error:
            assert "other" not in str(error), error
        assert "other_raglift" not in sys.modules
    """)
    assert (found.returncode, found.stderr) == (0, "")


def test_every_adapter_answers_for_what_it_does_not_have() -> None:
    class Small(Adapter):
        name = "Small"

        def owns(self, obj: Any) -> bool:
            return False

        def retriever_stages(self, system: Any, *, as_deployed: bool = False, doc_key: str | None = None) -> list[Any]:
            return []

    small = Small()
    assert (small.chunk_and_score(1), small.chunks(1), small.packages) == (None, None, ())
    with pytest.raises(UnsupportedSystem, match="reranker: found a int; the adapter of Small knows no rerankers"):
        small.reranker_stages(1)

    class Nothing(Adapter):
        name = "Nothing"

    with pytest.raises(TypeError, match="abstract"):
        Nothing()  # type: ignore[abstract]


def test_built_in_adapters_and_what_they_say() -> None:
    assert [adapter.name for adapter in built_in()] == ["LangChain", "LlamaIndex", "Haystack", "raglift"]
    assert accepted("systems") == (
        "a LangChain retriever, vector store or Runnable, a LlamaIndex retriever, query engine, index, agent "
        "or workflow, a Haystack retriever or pipeline"
    )
    assert set(packages()) >= {"langchain-core", "llama-index-core", "haystack-ai"}
    assert adapter_of(len) is built_in()[-1]
    assert adapter_of("http://127.0.0.1/search") is built_in()[-1]
    assert adapter_of("bm25") is None
    assert adapter_of({"text": "x"}) is None


@pytest.mark.slow
def test_the_example_of_the_documentation_works_once_it_is_installed(run: Run, site: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "adapters.md").read_text(encoding="utf-8")
    page = page[page.index("## Another framework") :]
    framework, adapter, *_ = re.findall(r"^```python\n(.+?)^```$", page, re.MULTILINE | re.DOTALL)
    entry = re.search(r'^\[project\.entry-points\."raglift\.adapters"\]\n(\w+) = "(.+)"$', page, re.MULTILINE)
    assert entry is not None
    install(site, "acme-raglift", "acme_raglift", adapter, f"{entry[1]} = {entry[2]}")
    (site / "acme.py").write_text(framework, encoding="utf-8")
    found = run("""
        import acme, raglift as rl
        data = rl.load_dataset("lighthouse")
        index = acme.Index({document.id: document.text for document in data.documents}, most=2)
        evaluation = rl.evaluate(index, data, ks=(10,), metrics=["recall"])
        print(evaluation.run.stages[0].system, evaluation.run.inventory.chunks, index.most)
        print(max(len(trace.stages[0].ranking) for trace in evaluation.run.traces))
        by_function = rl.evaluate(lambda query: index.find(query, 10), data, ks=(10,), metrics=["recall"])
        assert by_function.to_frame().equals(evaluation.to_frame())
    """)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.splitlines() == ["Acme index (20 pages) 20 2", "10"]
