"""Single values of a sweep: read from the form that users write, or refused with what was expected."""

from __future__ import annotations

import difflib
import re
from functools import lru_cache
from numbers import Integral
from pathlib import Path
from typing import Any

from pydantic_core import PydanticCustomError

from raglift.chunking import Chunker
from raglift.corpora.catalogue import find_corpus
from raglift.errors import ConfigurationError, CorpusError, MappingError, MissingDependency
from raglift.faults import quoted, shown
from raglift.integrations.adapt import adapt_reranker
from raglift.integrations.splitters import chunker_by_name
from raglift.metrics import parse, parse_depth
from raglift.models import EMBEDDED_MODEL
from raglift.paths import is_folder, is_there, user_path
from raglift.printable import printable
from raglift.records import Tokens
from raglift.retrieval.http import load_mapping
from raglift.retrieval.http.address import checked_address, is_http_address, perhaps_address, shown_address
from raglift.retrieval.notation import RetrieverSpec, parse_retriever
from raglift.sweep.specification.cells import NO_RERANKER

__all__ = [
    "as_list",
    "dataset",
    "depth",
    "embedding",
    "existing",
    "integer",
    "kind",
    "mapping",
    "metric",
    "no_mapping",
    "number",
    "reference",
    "reranker",
    "retriever",
    "short_chunker",
    "text",
    "told",
    "wrong",
]

_EMBEDDED = (EMBEDDED_MODEL, "minilm-static")
_REFERENCE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
# a grammar, and after it what in particular is wrong
_INNER = re.compile(r"; expected KIND.*?: ((?:chunker|chunk \w+|encoding): found .*)", re.DOTALL)
_PATH_STARTS = ("/", "./", "../", "~")
_NOT_TRUTH = "a text; YAML reads yes, no, on and off as true and false, unless they stand in quotation marks"


def wrong(found: str, expected: str) -> PydanticCustomError:
    """Return the error of a value in raglift's words."""
    said = {"found": printable(found), "expected": printable(expected)}  # paths among them are as they were given
    return PydanticCustomError("raglift", "found {found}; expected {expected}", said)


def told(error: ConfigurationError, value: object) -> PydanticCustomError:
    """Return the error of a value in the words of the part of raglift that refused it."""
    inner = _INNER.search(str(error))
    head, _, expected = (inner[1] if inner else str(error)).partition("; expected ")
    about, _, found = head.rpartition("found ")
    subject = about.removesuffix(": ").rpartition(": ")[2]
    if not expected:
        return wrong(shown(value), str(error))
    return wrong(f"{subject} {found}" if subject.startswith(("chunk ", "fusion ")) else found, expected)


def as_list(value: Any) -> Any:
    """Return several values as a list, and a single one as a list of one."""
    if isinstance(value, (list, tuple, range)):
        return list(value)
    return value if value is None or isinstance(value, (set, frozenset)) else [value]


def text(value: Any) -> str:
    """Read a text that is not blank."""
    if isinstance(value, bool):
        raise wrong(shown(value), _NOT_TRUTH)
    if isinstance(value, (int, float)):
        raise wrong(shown(value), "a text; put a name that looks like a number in quotation marks")
    if not isinstance(value, str):
        raise wrong(shown(value) if value is None else kind(value), "a text")
    if not value.strip():
        raise wrong(shown(value), "a text that is not empty")
    return value.strip()


def integer(value: Any) -> int:
    """Read an integer, of Python's or of numpy's."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    hint = " without quotation marks" if isinstance(value, str) and value.strip().lstrip("-").isdigit() else ""
    raise wrong(kind(value), f"an integer{hint}")


def number(value: Any) -> float:
    """Read a number."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    raise wrong(kind(value), "a number" + (" without quotation marks" if isinstance(value, str) else ""))


def no_mapping(value: Any) -> None:
    """Refuse what should be a mapping."""
    raise wrong(kind(value), "a mapping, as {embedding: minilm, reranker: none}")


def dataset(value: Any, folder: Path | None) -> str:
    """Read where a dataset is: a path that exists, or the name of a corpus that comes with raglift."""
    name = text(str(value) if isinstance(value, Path) else value)
    path = _resolved(name, folder)
    if is_there(path):
        return name if folder is None else str(path)
    try:
        find_corpus(Path(name).name)
    except CorpusError as error:
        known = str(error).partition("; expected ")[2] or str(error)
        raise wrong(
            quoted(name), f"a file or a folder, of which there is none at {path}, or a corpus: {known}"
        ) from None
    return name


def short_chunker(value: Any) -> str:
    """Read a chunker, and return its shortest text form."""
    given = str(value) if isinstance(value, Chunker) and not isinstance(value, str) else text(value)
    try:
        chunker = _chunker(given)
    except ConfigurationError as error:
        raise told(error, value) from None
    if value is not given and chunker != value:
        raise wrong(quoted(given), "a chunker whose text form says all of it, as recursive:1000/100")
    return str(chunker).removesuffix(":characters")


@lru_cache(maxsize=256)
def _chunker(given: str) -> Chunker:
    return chunker_by_name(given)


def embedding(value: Any, folder: Path | None) -> str:
    """Read an embedding model: a name, or the path of a folder that exists."""
    name = text(value)
    if name in _EMBEDDED:
        return name
    near = difflib.get_close_matches(name.lower().replace("_", "-"), _EMBEDDED, n=1, cutoff=0.8)
    if near and "/" not in name and ":" not in name and not is_there(_resolved(name, folder)):
        raise wrong(quoted(name), f"{near[0]!r}, a path, a hub id, or provider:model")
    return _model(name, folder)


def reranker(value: Any, folder: Path | None) -> str:
    """Read a reranker: a name, or the path of a folder that exists; null is `none`."""
    if value is None:
        return NO_RERANKER
    name = text(value)
    if name.lower() == NO_RERANKER:
        return NO_RERANKER
    try:
        adapt_reranker(name)
    except MissingDependency:
        pass  # whether it is installed matters where the sweep is run
    except ConfigurationError as error:
        raise told(error, value) from None
    return _model(name, folder)


def _model(name: str, folder: Path | None) -> str:
    """Return a name as it is, and the path of a folder as it is seen from here."""
    path = _resolved(name, folder)
    if is_folder(path):
        return name if folder is None else str(path)
    if name.startswith(_PATH_STARTS):
        raise wrong(quoted(name), f"the folder of a model; there is none at {path}")
    return name


def _resolved(name: str, folder: Path | None) -> Path:
    path = user_path(name)
    return path if folder is None else folder / path


def existing(value: Any, folder: Path | None) -> str:
    """Read the path of a file or folder that exists."""
    name = text(str(value) if isinstance(value, Path) else value)
    path = _resolved(name, folder)
    if not is_there(path):
        raise wrong(quoted(name), f"a file or a folder; there is none at {path}")
    return name if folder is None else str(path)


def retriever(value: Any) -> RetrieverSpec:
    """Read a retriever from its text form."""
    if isinstance(value, RetrieverSpec):
        return value
    try:
        return parse_retriever(text(value))
    except ConfigurationError as error:
        raise told(error, value) from None


def metric(value: Any) -> str:
    """Read a metric, and return its canonical text form."""
    try:
        return str(parse(text(value if value is None or isinstance(value, (bool, int, float)) else str(value))))
    except ConfigurationError as error:
        raise told(error, value) from None


def depth(value: Any) -> int | str:
    """Read a depth at which metrics are taken: a number of hits, or the text of a budget of tokens."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        found: int | Tokens | None = int(value) if int(value) >= 1 else None
    else:
        found = parse_depth(value) if isinstance(value, str) else value if isinstance(value, Tokens) else None
    if found is None:
        raise wrong(kind(value), "an integer of 1 or more, or a budget of tokens, as tokens(2000)")
    return found if isinstance(found, int) else str(found)


def reference(value: str) -> str:
    """Read `module:name`, or the address of an HTTP service; nothing is imported or asked."""
    if is_http_address(value):
        try:
            return checked_address(value)
        except ConfigurationError as error:
            raise told(error, value) from None
    if not _REFERENCE.fullmatch(value):
        nearly = perhaps_address(value)
        address = "the address of a service with http:// or https:// before it, as http://localhost:8000/search; or "
        wanted = "module:name of a retriever or of a function that makes one, as my_rag:retriever"
        raise wrong(quoted(shown_address(value) if nearly else value), (address if nearly else "") + wanted)
    return value


def mapping(value: Any, folder: Path | None) -> str | None:
    """Read the path of the file that describes an HTTP service, and look at what is in it."""
    if value is None:
        return None
    path = existing(value, folder)
    try:
        load_mapping(path)
    except ConfigurationError as error:
        first, *more = error.faults if isinstance(error, MappingError) else [str(error)]
        others = f" (and {len(more)} more)" if more else ""
        raise wrong(
            f"{quoted(str(value))}, of which {first}{others}", "a mapping, as docs/http.md describes it"
        ) from None
    return path


def kind(value: Any) -> str:
    """Return how a value that has the wrong type looks in a message."""
    plain = value is None or isinstance(value, (str, bool, int, float, list, tuple, dict))
    return shown(value) if plain else f"a {type(value).__name__}"
