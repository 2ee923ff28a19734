"""Scripts that build the pipeline of a cell in LangChain and in LlamaIndex, from a template for each.

Names, paths and other texts of the user stand in a script as constants, each written by `literal`, and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from raglift.adapters.adapt import LATE_INTERACTION
from raglift.errors import MissingDependency
from raglift.retrieval.chunkers import RecursiveChunker, parse_chunker
from raglift.retrieval.retrievers import RetrieverSpec
from raglift.sweep.specification.cells import NO_RERANKER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jinja2 import Environment

    from raglift.sweep.specification.cells import Cell

SCRIPTS = ("langchain_pipeline.py", "llama_index_pipeline.py")
"""The names of the scripts; their templates are in `templates/`."""
_LINE = 88
"""As long are lines of ruff and black by default."""


@dataclass(frozen=True)
class Pipeline:
    """What a script builds."""

    cell: Cell
    """Of raglift's own parts."""
    dataset: str
    """The name of a corpus, or an absolute path."""
    documents: Mapping[str, object]
    """Further arguments of `load_dataset`: `documents`, `include`, `encoding`."""
    candidates: int
    """How many hits are retrieved."""
    hits: int
    """How many of them are returned."""
    dtype: str
    """What models compute in."""
    device: str = "auto"
    """Where they compute."""


def script_of(pipeline: Pipeline, name: str) -> str:
    """Return a script that builds a pipeline.

    Args:
        pipeline: what it builds.
        name: one of `SCRIPTS`.

    Raises:
        MissingDependency: Jinja is not installed.
    """
    cell, retriever = pipeline.cell, pipeline.cell.retriever or RetrieverSpec()
    chunker = parse_chunker(str(cell.chunker)) if str(cell.chunker).startswith("recursive:") else None
    # In characters LangChain's own splitter gives the chunks that were measured
    is_own = isinstance(chunker, RecursiveChunker) and chunker.unit == "characters" and name == SCRIPTS[0]
    is_late = cell.reranker == LATE_INTERACTION
    reranker_class = "LateInteractionReranker" if is_late else "CrossEncoderReranker"
    constants: dict[str, object] = {"CELL": cell.name, "DATASET": pipeline.dataset}
    constants |= {argument.upper(): value for argument, value in pipeline.documents.items()}
    constants |= {} if is_own else {"CHUNKER": cell.chunker}
    if retriever.kind != "bm25":
        constants |= {"EMBEDDING": cell.embedding, "DTYPE": pipeline.dtype, "DEVICE": pipeline.device}
    if retriever.kind != "dense":
        constants["BM25"] = str(RetrieverSpec("bm25", bm25=retriever.bm25))
    if retriever.kind == "hybrid" and name != SCRIPTS[0]:
        constants |= {"WEIGHTS": retriever.weights, "CONSTANT": retriever.constant}
    if cell.reranker != NO_RERANKER:
        constants |= {} if is_late else {"RERANKER": cell.reranker}
        constants |= {"DTYPE": pipeline.dtype, "DEVICE": pipeline.device}
    constants |= {"CANDIDATES": pipeline.candidates, "HITS": pipeline.hits}
    return (
        _environment()
        .get_template(f"{name}.jinja")
        .render(
            constants="\n".join(_constant(constant, literal(value)) for constant, value in constants.items()),
            load_arguments="".join(
                ["DATASET", *(f", {argument}={argument.upper()}" for argument in pipeline.documents)]
            ),
            recursive=chunker if is_own else None,
            dense=retriever.kind != "bm25",
            bm25=retriever.kind != "dense",
            hybrid=retriever.kind == "hybrid",
            weights=literal(retriever.weights),
            constant=retriever.constant,
            reranks=cell.reranker != NO_RERANKER,
            reranker_class=reranker_class,
            make_reranker=f"{reranker_class}({'' if is_late else 'RERANKER, '}dtype=DTYPE, device=DEVICE)",
        )
    )


@cache
def _environment() -> Environment:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise MissingDependency(error.name or "jinja2", "report", "exporting a pipeline as scripts") from None
    environment = Environment(  # noqa: S701 — scripts are Python, and texts of the user are written by `literal`
        loader=PackageLoader("raglift.sweep", "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["imports"] = _imports
    return environment


def literal(value: object) -> str:
    """Return a value as Python source, texts in double quotes unless they hold some."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(literal, value))}]"
    if not isinstance(value, str):
        return repr(value)
    written = repr(value) if value.isprintable() else ascii(value)
    return f'"{written[1:-1]}"' if written[0] == "'" and '"' not in written else written


def _constant(name: str, value: str) -> str:
    """Return an assignment; in brackets where its line is then short enough, as ruff would have it."""
    line = f"{name} = {value}"
    return f"{name} = (\n    {value}\n)" if len(line) > _LINE >= len(value) + 4 else line


def _imports(*modules: tuple[str, Sequence[str | bool]]) -> str:
    """Return the import statements of modules of which some names are needed, as long as ruff would have them."""
    lines = []
    for module, choices in modules:
        names = [name for name in choices or () if name]
        line = f"from {module} import {', '.join(map(str, names))}"
        if len(line) > _LINE:
            line = "\n".join([f"from {module} import (", *(f"    {name}," for name in names), ")"])
        lines += [line] if names else []
    return "\n".join(lines)
