"""Runs every class and writes what was seen into docs/reference/classes.md: `python -m tests.classes.page`."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import llama_index.core
from llama_index.core import MockEmbedding, Settings
from llama_index.core.llms import MockLLM
from tests.conftest import write_tiny_cross_encoder

from . import haystack, langchain
from . import llama_index as llama
from .cases import Corpus
from .running import run

FRAMEWORKS = {"LangChain": langchain.CASES, "LlamaIndex": llama.CASES, "Haystack": haystack.CASES}
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "classes.md"
BEGIN, END = "<!-- what was run, written by tests/classes/page.py -->", "<!-- end of what was run -->"
TOKENS = Path(llama_index.core.__file__).parent / "_static" / "tiktoken_cache"
"""LlamaIndex's copy of an encoding, which tiktoken itself would fetch."""
_HEADS = ("| Class | Kind | Opened into | Hits | Deep | Offsets | Note |", "|---|---|---|---|---|---|---|")


@contextmanager
def corpus_for_classes(folder: Path) -> Iterator[Corpus]:
    """Yield the corpus that every class is run on."""
    before, defaults = os.environ.get("TIKTOKEN_CACHE_DIR"), (Settings._llm, Settings._embed_model)
    os.environ["TIKTOKEN_CACHE_DIR"] = str(TOKENS)
    Settings._llm, Settings._embed_model = MockLLM(), MockEmbedding(embed_dim=8)  # by themselves OpenAI's
    try:
        yield Corpus.build(write_tiny_cross_encoder(folder / "cross-encoder"))
    finally:
        Settings._llm, Settings._embed_model = defaults
        os.environ.pop("TIKTOKEN_CACHE_DIR") if before is None else os.environ.update(TIKTOKEN_CACHE_DIR=before)


def lines_on_page() -> dict[str, str]:
    """Return the lines of the page, by `Case.key`."""
    found, package = {}, ""
    for line in PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].splitlines():
        if line.startswith("### "):
            package = line.removeprefix("### ")
        elif line.startswith("| `"):
            found[f"{package} {line.split('`')[1]}"] = line
    return found


def write_page(lines: Mapping[str, str]) -> None:
    """Put the lines of all classes into the page."""
    parts = []
    for framework, cases in FRAMEWORKS.items():
        parts += [f"## {framework}", f"{len({case.path for case in cases})} classes were run."]
        for package in dict.fromkeys(case.package for case in cases):
            rows = [lines[case.key] for case in cases if case.package == package]
            parts += [f"### {package}", "\n".join([*_HEADS, *rows])]
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    text = "\n\n".join(parts)
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


def main() -> None:
    """Run every class; one that does not behave stops it, and leaves the page as it is."""
    warnings.simplefilter("ignore")  # what these packages say of their own future
    lines = {}
    with tempfile.TemporaryDirectory() as folder, corpus_for_classes(Path(folder)) as corpus:
        for cases in FRAMEWORKS.values():
            for case in cases:
                lines[case.key] = run(case, corpus).line
                sys.stdout.write(f"{lines[case.key]}\n")
    write_page(lines)


if __name__ == "__main__":
    main()
