"""The structures that files hold, so that they can be damaged as such: well-formed files that say something wrong.

A tree is made of lists, `Pairs` (objects whose fields may come twice), and scalars; `Raw` is written unchanged.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["CODECS", "Codec", "Pairs", "Raw", "codec_of"]


class Raw(str):
    """A token that is written unchanged: a NaN, a YAML tag, a bracket that nothing closes."""

    __slots__ = ()


class Pairs(list[tuple[str, Any]]):
    """The fields of an object, in their order; a name may come twice."""


@dataclass(frozen=True)
class Codec:
    """How a tree is in a file."""

    decode: Callable[[bytes], Any]
    """From a well-formed file."""
    encode: Callable[[Any], bytes]
    """From any tree, also one that no well-formed file holds."""


def codec_of(path: str, name: str | None = None) -> Codec | None:
    """Return how the tree of a file is written; None if it has none that is known.

    Args:
        path: the file; its ending tells where no name is given.
        name: one of `CODECS`, or "bytes" for none.
    """
    plain = path.removesuffix(".gz")
    ending = plain.rpartition(".")[2]
    codec = CODECS.get(name or ending)
    return _compressed(codec) if codec is not None and plain != path else codec


def _compressed(codec: Codec) -> Codec:
    return Codec(
        lambda data: codec.decode(gzip.decompress(data)), lambda tree: gzip.compress(codec.encode(tree), 1, mtime=0)
    )


def _pairs(value: Any) -> Any:
    if isinstance(value, dict):
        return Pairs((str(name), _pairs(item)) for name, item in value.items())
    return [_pairs(item) for item in value] if isinstance(value, list) else value


def _json_text(value: Any, equals: str = ": ") -> str:
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, Pairs):
        return "{" + ", ".join(f"{_json_text(name)}{equals}{_json_text(item, equals)}" for name, item in value) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_json_text(item, equals) for item in value) + "]"
    if value is None or isinstance(value, (bool, int, float, str)):
        return json.dumps(value, ensure_ascii=False) if not isinstance(value, int) else json.dumps(value)
    return json.dumps(str(value))  # a date of TOML or Parquet


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _word(cell: Any) -> str:
    return str(cell) if isinstance(cell, str) else _json_text(cell)


def _rows(tree: Any) -> list[list[str]]:
    rows = tree if isinstance(tree, list) else [tree]
    return [[_word(cell) for cell in (row if isinstance(row, list) else [row])] for row in rows]


def _lines_of_json(data: bytes) -> list[Any]:
    return [json.loads(line, object_pairs_hook=Pairs) for line in data.splitlines() if line.strip()]


def _json_lines(tree: Any) -> bytes:
    rows = tree if isinstance(tree, list) else [tree]
    return _bytes("".join(_json_text(row) + "\n" for row in rows))


def _from_yaml(data: bytes) -> Any:
    import yaml

    return _pairs(yaml.safe_load(data))


def _toml(tree: Any) -> bytes:
    if not isinstance(tree, Pairs):
        return _bytes(_json_text(tree))
    return _bytes("".join(f"{_json_text(name)} = {_json_text(value, ' = ')}\n" for name, value in tree))


def _from_csv(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode(), newline="")))


def _csv(tree: Any) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(_rows(tree))
    return _bytes(text.getvalue())


def _separated(separator: str | None, joined: str) -> Codec:
    return Codec(
        lambda data: [line.split(separator) for line in data.decode().split("\n") if line],
        lambda tree: _bytes("".join(joined.join(row) + "\n" for row in _rows(tree))),
    )


def _from_parquet(data: bytes) -> Pairs:
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(data))
    return Pairs((name, _pairs(column.to_pylist())) for name, column in zip(table.schema.names, table, strict=True))


def _parquet(tree: Any) -> bytes:
    """Write columns of any values: one that mixes types becomes texts, and a shorter one is filled with nothing."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    given = [(name, values if isinstance(values, list) else [values]) for name, values in _as_pairs(tree)]
    length = len(given[0][1]) if given else 0
    names = [name.encode("utf-8", "replace").decode() for name, _ in given]
    arrays = [_array([*values, *[None] * length][:length]) for _, values in given]
    file = io.BytesIO()
    try:
        pq.write_table(pa.Table.from_arrays(arrays, names=names), file)
    except pa.ArrowException:
        return b"PAR1 what Arrow itself does not write PAR1"
    return file.getvalue()


def _as_pairs(tree: Any) -> Pairs:
    return tree if isinstance(tree, Pairs) else Pairs([("column", tree)])


def _array(values: list[Any]) -> Any:
    import pyarrow as pa

    plain = [_unpaired(value) for value in values]
    try:
        return pa.array(plain)
    except (pa.ArrowException, OverflowError, UnicodeError, TypeError):
        return pa.array([_word(value).encode("utf-8", "replace").decode() for value in values])


def _unpaired(value: Any) -> Any:
    if isinstance(value, Pairs):
        return {name.encode("utf-8", "replace").decode(): _unpaired(item) for name, item in value}
    return [_unpaired(item) for item in value] if isinstance(value, list) else value


_JSON = Codec(
    lambda data: json.loads(data.decode("utf-8-sig"), object_pairs_hook=Pairs), lambda tree: _bytes(_json_text(tree))
)
_YAML = Codec(_from_yaml, _JSON.encode)  # what JSON says, YAML says too; a Raw may hold what only YAML says
_JSON_LINES = Codec(_lines_of_json, _json_lines)

CODECS = {
    "json": _JSON,
    "jsonl": _JSON_LINES,
    "ndjson": _JSON_LINES,
    "yaml": _YAML,
    "yml": _YAML,
    "toml": Codec(lambda data: _pairs(tomllib.loads(data.decode())), _toml),
    "csv": Codec(_from_csv, _csv),
    "tsv": _separated("\t", "\t"),
    "words": _separated(None, " "),
    "trec": _separated(None, " "),
    "parquet": Codec(_from_parquet, _parquet),
}
"""By the endings of files; `words` are lines of words with white space between them."""
