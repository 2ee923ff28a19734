"""Files that cannot be read as what they should be: the fault names the byte, the character or the line."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from raglift.errors import DatasetError
from raglift.utilities.strict_files import (
    InvalidYaml,
    YamlFields,
    as_file,
    decode_document,
    read_bytes,
    stream_lines,
    survives_json,
)
from raglift.utilities.validation import Location

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def location() -> Location:
    return Location("file.txt", [])


@pytest.mark.parametrize(
    ("data", "encoding", "text"),
    [
        ("\ufeffTide\r\nat noon\r".encode("utf-16-le"), None, "Tide\nat noon\n"),
        ("\ufeffTide".encode("utf-32-be"), "cp1252", "Tide"),
        ("Fähre".encode("cp1252"), "cp1252", "Fähre"),
        ("Fähre".encode(), "cp1252", "Fähre"),
        ("潮".encode("iso2022_jp"), "iso2022_jp", "潮"),
        ("潮".encode("utf-16-le"), "utf-16-le", "潮"),
    ],
)
def test_a_text_is_read_as_its_mark_says_then_as_utf8_then_as_named(
    location: Location, data: bytes, encoding: str | None, text: str
) -> None:
    assert decode_document(data, location, encoding) == text
    assert location.faults == []


@pytest.mark.parametrize(
    ("data", "encoding", "found", "expected"),
    [
        (b"ab\x81", "cp1252", "the byte 0x81 at byte 2 of the file, which is not cp1252", "the encoding of the file"),
        (
            b"\xff\xfea\x00\x00\xdc",
            None,
            "the byte 0x00 at byte 4 of the file, which is not utf-16-le",
            "text in utf-16-le, as its byte-order mark says",
        ),
        (b"a\x00\xe4", "latin-1", "the character '\\x00' at character 1 of the file, read as latin-1", "the encoding"),
        (b"+2AA-", "utf-7", "the character '\\ud800' at character 0 of the file, read as utf-7", "the encoding"),
        (b"a\xe4", None, "the byte 0xe4 at byte 1 of the file, which is not UTF-8", "--encoding cp1252"),
    ],
)
def test_what_is_not_in_its_encoding_names_the_byte_or_the_character(
    location: Location, data: bytes, encoding: str | None, found: str, expected: str
) -> None:
    assert decode_document(data, location, encoding) is None
    (fault,) = location.faults
    assert fault.found == found
    assert expected in fault.expected


@pytest.mark.parametrize("name", ["absent", "folder"])
def test_lines_of_what_is_no_file_are_none_and_a_fault(tmp_path: Path, location: Location, name: str) -> None:
    (tmp_path / "folder").mkdir()
    assert list(stream_lines(tmp_path / name, location)) == []
    assert read_bytes(tmp_path / name, location) is None
    first, second = location.faults
    assert first == second
    assert first.found.startswith("no readable file (")
    assert first.expected == f"a readable file at {tmp_path / name}"


def test_a_pipe_gives_no_more_than_is_taken_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")

    def give(text: str) -> threading.Thread:
        thread = threading.Thread(target=pipe.write_text, args=(text,))
        thread.start()
        return thread

    giving = give("0123456789")
    with as_file(pipe, ".jsonl") as copy:
        assert (copy.name, copy.read_text(encoding="utf-8")) == ("pipe.jsonl", "0123456789")
    giving.join()
    assert not copy.exists()
    monkeypatch.setenv("RAGLIFT_MAX_BYTES", "9")
    giving = give("0123456789")
    with pytest.raises(DatasetError, match="found more than 9 bytes; expected at most 9 bytes"), as_file(pipe):
        pass
    giving.join()


@pytest.mark.parametrize(
    ("value", "survives"),
    [
        ({"a": [1, 2.5, None, True, "é"]}, True),
        ({"a": (1, 2)}, False),
        ({1: "a"}, False),
        (float("nan"), False),
        (2**64, False),
        ({"a": object()}, False),
    ],
    ids=["lists", "tuple", "number as a key", "not a number", "large", "object"],
)
def test_what_json_gives_back_as_it_is(value: Any, survives: bool) -> None:
    assert survives_json(value) is survives


@pytest.mark.parametrize(
    ("data", "where", "found"),
    [
        (b"a: 1\nb: \xe4\n", "file.yaml:2", "bytes that are not UTF-8"),
        (b"a: 1\nb: [1\n", "file.yaml:3", "what is not YAML (while parsing a flow sequence, expected"),
        (b"a: 1\n---\nb: 1\n", "file.yaml:2", "what is not YAML (expected a single document in the stream, but"),
        (b"a: \x07\n", "file.yaml", "what is not YAML (unacceptable character"),
        (b"a: 1 # " + b"x" * 100_000, "file.yaml", "100,007 bytes"),
        (b"# nothing\n", "file.yaml", "an empty file"),
        (b"\n- a\n", "file.yaml:2", "no fields"),
        (b"a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n" + b"b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
         b"c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\n",
         "file.yaml", "more values, aliases counted with all that they stand for"),
        (b"a: " + b"[" * 30 + b"]" * 30, "file.yaml", "values that lie deeper"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_yaml_of_fields_names_its_line(tmp_path: Path, data: bytes, where: str, found: str) -> None:
    (tmp_path / "file.yaml").write_bytes(data)
    with pytest.raises(InvalidYaml) as caught:
        YamlFields("file.yaml", "fields").read(tmp_path / "file.yaml")
    assert caught.value.fault.where == where
    assert caught.value.fault.found.startswith(found)


def test_names_of_fields_that_are_no_texts_and_tags_are_faults_and_the_rest_is_read(tmp_path: Path) -> None:
    text = 'a: 1\n7: x\n[b]: x\nno: x\n"\\ud800": x\nc: !!set {d}\n'
    (tmp_path / "file.yaml").write_text(text, encoding="utf-8")
    fields = YamlFields("file.yaml", "fields")
    assert fields.read(tmp_path / "file.yaml")["a"] == 1
    assert [(line, fault.found) for line, fault in fields.faults] == [
        (2, '"7" for a field\'s name'),
        (3, "a list or a mapping for a field's name"),
        (4, '"no" for a field\'s name'),
        (5, '"\\ud800" for a field\'s name'),
        (6, 'the tag "tag:yaml.org,2002:set"'),
    ]
