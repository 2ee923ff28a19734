from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from raglift.errors import ConfigurationError, DatasetError, RagliftError
from raglift.types.dataset import Dataset
from raglift.types.documents import Document
from raglift.types.labels import Fact, Passage, Query
from raglift.updating import update_labels

LAMP = "The lamp of the tower on Skarholm is lit half an hour before sunset, in summer and in winter."
ODD = "The lamp of the tower \ud800 on Skarholm is lit “half” an hour before sunset, in summer and in winter."


def data(documents: dict[str, str], *labels: Passage) -> Dataset:
    facts = tuple(Fact((label,)) for label in labels)
    return Dataset(
        (Query("q", "When is it lit?", facts),), tuple(Document(*item) for item in documents.items()), "tower"
    )


TOWER = data({"lamp.md": LAMP}, Passage(LAMP))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (tmp_path / "latin").mkdir()
    (tmp_path / "latin" / "cafe.md").write_bytes(b"caf\xe9 au lait")
    (tmp_path / "empty").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("dataset", "documents", "error", "words"),
    [
        (data({}, Passage(LAMP)), {"a.md": LAMP}, ConfigurationError, ("tower", "found no documents", "load_dataset(")),
        (TOWER, None, ConfigurationError, ("found no new documents", "at least one")),
        (TOWER, [], ConfigurationError, ("found no new documents",)),
        (TOWER, {}, ConfigurationError, ("found no new documents",)),
        (TOWER, 5, ConfigurationError, ("found 5", "Document")),
        ("shop_support", {"a.md": LAMP}, ConfigurationError, ('"shop_support"', "load_dataset()")),
        (Path("shop"), {"a.md": LAMP}, ConfigurationError, ("Path", "load_dataset()")),
        (None, {"a.md": LAMP}, ConfigurationError, ("null", "load_dataset()")),
        (data({"a.md": LAMP}, Passage(chunk_id="c1")), {"a.md": LAMP}, ConfigurationError, ("1 labels by chunk id",)),
        (TOWER, [Document("a", "x"), Document("a", "y")], DatasetError, ("[1].id", '"a"', "unique")),
        (TOWER, ["text"], DatasetError, ("[0]", "str", "Document")),
        (TOWER, {"a.md": b"text"}, DatasetError, ("[0].text", "bytes")),
        (TOWER, {5: "text"}, DatasetError, ("[0].id", "5")),
        (TOWER, "nowhere", DatasetError, ("nowhere", "no such file or folder")),
        (TOWER, "image.png", DatasetError, ("image.png", "NUL byte at byte 8", "UTF-8")),
        (TOWER, "latin", DatasetError, ("cafe.md:1", "0xe9", "encoding")),
        (TOWER, "empty", DatasetError, ("without documents", "*.md")),
    ],
)
def test_what_is_wrong_is_said(
    folder: Path, dataset: Any, documents: Any, error: type[RagliftError], words: tuple[str, ...]
) -> None:
    with pytest.raises(error) as caught:
        update_labels(dataset, folder / documents if isinstance(documents, str) else documents)
    assert [word for word in words if word not in str(caught.value)] == []


@pytest.mark.parametrize(
    ("documents", "labels", "now", "kinds"),
    [
        ({"a.md": LAMP}, [Passage(LAMP)], {"a.md": "", "b.md": " \n"}, ["gone"]),
        ({"a.md": ""}, [Passage(LAMP)], {"a.md": LAMP}, ["elsewhere"]),  # nowhere before: there is no place to follow
        ({"a.md": "Other."}, [Passage(LAMP, "a.md")], {"a.md": LAMP}, ["elsewhere"]),
        ({"a.md": ODD}, [Passage(ODD)], {"b.md": f"New.\n\n{ODD}\n"}, ["moved"]),
        ({"a.md": ODD}, [Passage(ODD)], {"a.md": ODD.replace("\ud800", "\udfff")}, ["edited"]),
        ({"a.md": "6.3. No."}, [Passage("6.3.", "a.md", 0, 4)], {"a.md": "6.4. Yes, it is."}, ["ambiguous"]),
        ({"a.md": "---\n\n***\n"}, [Passage("---")], {"a.md": "***\n"}, ["gone"]),
        ({"a.md": LAMP}, [], {"a.md": LAMP}, []),
        ({"a.md": LAMP}, [Passage(chunk_id="c"), Passage(LAMP)], {"b.md": LAMP}, ["gone", "moved"]),
        ({"a.md": "e " * 3_000}, [Passage("e")], {"a.md": "e " * 2_999}, ["elsewhere"]),
    ],
)
def test_what_is_odd_has_an_outcome(
    documents: dict[str, str], labels: list[Passage], now: dict[str, str], kinds: list[str]
) -> None:
    assert [each.kind for each in update_labels(data(documents, *labels), now).passages] == kinds


@pytest.mark.slow
def test_a_large_document_and_5000_labels() -> None:
    lines = [
        f"Stone number {number:06d} of the wall lies at the ford, north of the old mill." for number in range(10_000)
    ]
    text = "\n\n".join(lines)
    labels = [Passage(line, "wall.md") for line in lines[::2]]
    edited = "\n\n".join(line.replace("ford", "weir") if number % 4 == 0 else line for number, line in enumerate(lines))
    counts = update_labels(data({"wall.md": text}, *labels), {"wall.md": edited}).counts
    assert (counts["unchanged"], counts["edited"]) == (2500, 2500)
