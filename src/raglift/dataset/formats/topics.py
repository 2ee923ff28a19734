"""TREC topics: tab-separated lines, the classic `<top>` records, or JSON Lines."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from raglift.dataset.decoding import decode_text, read_bytes, stream_lines
from raglift.dataset.document_lines import LINES_SUFFIXES
from raglift.dataset.formats.whole_documents import Topic
from raglift.dataset.strict_json import parse_object
from raglift.faults import Place, quoted
from raglift.records.passages import read_id, read_string

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from raglift.errors import Fault

__all__ = ["read_topics"]

_ID_FIELDS = ("id", "_id", "qid", "query_id", "topic", "number", "num")
_TEXT_FIELDS = ("text", "query", "title", "question")
_RECORD = re.compile(r"<top>(.*?)</top>", re.IGNORECASE | re.DOTALL)
# A tag ends where the next one begins: the classic topics have no closing tags
_FIELD = re.compile(r"<(num|title)>([^<]*)", re.IGNORECASE)
_LABEL = {"num": re.compile(r"\s*Number:", re.IGNORECASE), "title": re.compile(r"\s*Topic:", re.IGNORECASE)}
_ENTITY = re.compile(r"&#?\w+;")


def read_topics(path: Path, faults: list[Fault]) -> list[Topic]:
    """Return the topics of a file.

    A `.tsv` file has `id<TAB>question` lines; a `.jsonl` file an object on each line, with an id (`id`, `_id`, `qid`,
    …) and a question (`text`, `query`, `title` or `question`); any other file is told by its first character: `<` for
    `<top>` records, whose `<num>` and `<title>` are read, `{` for JSON Lines, and anything else for lines with a tab.

    Args:
        path: the file.
        faults: where what is wrong is noted.
    """
    place = Place(path.name, faults)
    suffix = path.suffix.lower()
    if suffix == ".tsv":
        return list(_from_lines(path, place))
    if suffix in LINES_SUFFIXES:
        return list(_from_json_lines(path, place))
    data = read_bytes(path, place)
    if data is None:
        return []
    begin = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if begin == b"<":
        return list(_from_records(decode_text(data, place) or "", place))
    return list(_from_json_lines(path, place) if begin == b"{" else _from_lines(path, place))


def _from_lines(path: Path, place: Place) -> Iterator[Topic]:
    for here, line in stream_lines(path, place):
        topic_id, tab, text = line.partition("\t")
        if not tab:
            here.fault(f"{quoted(line)}, without a tab", "a topic's id, a tab and its question")
        elif read_string(topic_id, here / "id") and read_string(text, here / "question"):
            yield Topic(here, topic_id, text)


def _from_json_lines(path: Path, place: Place) -> Iterator[Topic]:
    for here, line in stream_lines(path, place):
        entry = parse_object(line, here)
        if entry is None:
            continue
        names = [next((name for name in fields if name in entry), None) for fields in (_ID_FIELDS, _TEXT_FIELDS)]
        for name, fields in zip(names, (_ID_FIELDS, _TEXT_FIELDS), strict=True):
            if name is None:
                (here / fields[0]).fault("no such field", f"one of the fields {', '.join(fields)}")
        if names[0] is not None and names[1] is not None:
            topic_id = read_id(entry[names[0]], here / names[0])
            text = read_string(entry[names[1]], here / names[1])
            if topic_id and text:
                yield Topic(here, topic_id, text)


def _from_records(text: str, place: Place) -> Iterator[Topic]:
    line, end = 1, 0
    for record in _RECORD.finditer(text):
        line, end = line + text.count("\n", end, record.start()), record.start()
        here = place.at_line(line)
        fields: dict[str, str] = {}
        for match in _FIELD.finditer(record[1]):
            name = match[1].lower()
            words = _LABEL[name].sub("", match[2], count=1)
            value = " ".join(_ENTITY.sub(lambda entity: html.unescape(entity[0]), words).split())
            if value:
                fields.setdefault(name, value)
        for name in ("num", "title"):
            if name not in fields:
                (here / name).fault(f"no <{name}>", "<num> and <title> in each <top>")
        if len(fields) == 2:
            yield Topic(here, fields["num"], fields["title"])
    if text and not _RECORD.search(text):
        place.fault("no <top> … </top>", "topics as <top> records, lines with a tab, or JSON Lines")
