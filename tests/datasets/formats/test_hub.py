from __future__ import annotations

import gzip
import importlib.util
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from raglift.datasets.loading import load_dataset, load_documents
from raglift.errors import ConfigurationError, DatasetError, MissingDependency

Faults = Callable[..., str]


@pytest.fixture
def folder(fixtures: Path, tmp_path: Path) -> Path:
    """A copy that a test can change."""
    return Path(shutil.copytree(fixtures / "hub", tmp_path / "hub"))


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_parquet(rows: list[dict[str, Any]], path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(rows), path)


def to_parquet(folder: Path, *, qrels: str = "data") -> Path:
    """Rewrite the tables as `push_to_hub` of the package datasets leaves them, with the files it makes."""
    tables = {"corpus": ["corpus"], "queries": ["queries"], qrels: ["test", "train"]}
    for name, splits in tables.items():
        for split in splits:
            source = folder / "qrels" / f"{split}.jsonl" if name == qrels else folder / f"{name}.jsonl"
            target = folder / name / f"{split}-00000-of-00001.parquet"
            target.parent.mkdir(exist_ok=True)
            write_parquet(rows(source), target)
            source.unlink()
    (folder / "README.md").unlink()
    return folder


def in_languages(folder: Path) -> Path:
    """Lay the tables out as the multilingual sets of MTEB have them."""
    for language in ("de", "en"):
        for table, source in (("corpus", "corpus.jsonl"), ("queries", "queries.jsonl"), ("qrels", "qrels/test.jsonl")):
            target = folder / f"{language}-{table}" / "dev.jsonl"
            target.parent.mkdir()
            shutil.copy(folder / source, target)
    for name in ("corpus.jsonl", "queries.jsonl", "README.md"):
        (folder / name).unlink()
    shutil.rmtree(folder / "qrels")
    return folder


def test_a_folder_is_what_beir_has(fixtures: Path) -> None:
    dataset, same = load_dataset(f"hf:{fixtures / 'hub'}"), load_dataset(fixtures / "beir")
    assert (dataset.name, dataset.queries, dataset.documents) == ("hub", same.queries, same.documents)
    assert dataset.query("1").facts[0].passages[0].grade == 2
    assert load_documents(f"hf:{fixtures / 'hub'}") == same.documents


@pytest.mark.parametrize("qrels", ["data", "default", "qrels"])
def test_parquet_without_a_card(qrels: str, folder: Path, fixtures: Path) -> None:
    expected = load_dataset(fixtures / "beir")
    assert load_dataset(f"hf:{to_parquet(folder, qrels=qrels)}").queries == expected.queries
    assert load_dataset(folder, format="hf").documents == expected.documents


def test_tables_with_tabs_and_packed_ones(folder: Path, fixtures: Path) -> None:
    shutil.rmtree(folder / "qrels")
    shutil.copytree(fixtures / "beir" / "qrels", folder / "qrels")
    (folder / "README.md").unlink()
    corpus = folder / "corpus.jsonl"
    (folder / "corpus.jsonl.gz").write_bytes(gzip.compress(corpus.read_bytes()))
    corpus.unlink()
    assert load_dataset(f"hf:{folder}").queries == load_dataset(fixtures / "beir").queries


def test_one_of_several_subsets(folder: Path, faults: Faults) -> None:
    in_languages(folder)
    assert len(load_dataset(f"hf:{folder}?subset=de").documents) == 5
    assert 'found no corpus and no queries and no qrels of the subset "fr"' in faults(f"hf:{folder}?subset=fr")
    assert "expected subset= one of de, en" in faults(f"hf:{folder}")


def test_qrels_may_be_a_dataset_of_their_own(folder: Path, fixtures: Path, faults: Faults) -> None:
    (folder / "qrels").rename(folder.with_name("hub-qrels"))
    assert load_dataset(f"hf:{folder}").queries == load_dataset(fixtures / "beir").queries
    assert [query.id for query in load_dataset(f"hf:{folder}?split=train")] == ["5", "9"]
    shutil.rmtree(folder.with_name("hub-qrels"))
    assert "found no qrels among" in faults(f"hf:{folder}")


def test_numbers_and_nulls_of_tables(folder: Path) -> None:
    """Tables made of other tables have ids as integers, and nothing at all where a title is missing."""
    to_parquet(folder)
    write_parquet([{"_id": 7, "title": None, "text": "At noon."}], folder / "corpus" / "corpus-00000-of-00001.parquet")
    write_parquet([{"_id": 1, "text": "When?"}], folder / "queries" / "queries-00000-of-00001.parquet")
    write_parquet([{"query-id": 1, "corpus-id": 7, "score": 1.0}], folder / "data" / "test-00000-of-00001.parquet")
    shutil.rmtree(folder / "data" / "train", ignore_errors=True)
    dataset = load_dataset(f"hf:{folder}?split=test")
    assert dataset.query("1").facts[0].passages[0].doc_id == "7"
    assert dataset.documents[0].text == "At noon."


@pytest.mark.slow
def test_what_is_missing_or_unknown(folder: Path, fixtures: Path, faults: Faults) -> None:
    with pytest.raises(ConfigurationError, match=r"found split without a value; expected one, as split=test"):
        load_dataset(f"hf:{folder}?split=")
    with pytest.raises(ConfigurationError, match="found revision='main' with a folder; expected none"):
        load_dataset(f"hf:{folder}?revision=main")
    assert 'found no split "dev"; expected split= one of "test", "train"' in faults(f"hf:{folder}?split=dev")
    assert 'found "no/such/folder", which is no folder' in faults("hf:no/such/folder")
    assert 'found "mteb/sci..fact", which is no folder and no id' in faults("hf:mteb/sci..fact")
    assert "found no corpus and no queries and no qrels among 1 files" in faults(f"hf:{fixtures / 'squad'}")
    with pytest.raises(ConfigurationError, match="found the option 'name'; expected one of"):
        load_dataset(f"hf:{folder}?name=x")
    with pytest.raises(ConfigurationError, match="found format='beir' with hf:"):
        load_dataset(f"hf:{folder}", format="beir")


def test_a_dataset_of_rows_is_read_with_columns_or_as_a_preset(fixtures: Path, tmp_path: Path, faults: Faults) -> None:
    (tmp_path / "own" / "data").mkdir(parents=True)
    write_parquet([{"ask": "When?", "told": "at noon"}], tmp_path / "own" / "data" / "test-00000-of-00001.parquet")
    (query,) = load_dataset(f"hf:{tmp_path / 'own'}", columns={"question": "ask", "passage": "told"})
    assert (query.text, query.facts[0].passages[0].text) == ("When?", "at noon")
    assert "expected corpus, queries and qrels, or columns= of rows" in faults(f"hf:{tmp_path / 'own'}")
    (tmp_path / "ragas").mkdir()
    shutil.copy(fixtures / "ragas" / "testset.jsonl", tmp_path / "ragas" / "train.jsonl")
    assert load_dataset(f"hf:{tmp_path / 'ragas'}").queries == load_dataset(fixtures / "ragas/testset.jsonl").queries
    with gzip.open(tmp_path / "ragas" / "train.jsonl.gz", "wb") as file:
        file.write((tmp_path / "ragas" / "train.jsonl").read_bytes())
    (tmp_path / "ragas" / "train.jsonl").unlink()
    packed = tmp_path / "ragas" / "train.jsonl.gz"
    assert len(load_dataset(f"hf:{tmp_path / 'ragas'}")) == 2
    given = {"columns": {"question": "user_input", "passage": "reference_contexts"}}
    packed.write_bytes(packed.read_bytes()[:-12])
    assert "train.jsonl.gz: found no readable gzip file" in faults(f"hf:{tmp_path / 'ragas'}", **given)


def test_the_extra_is_named_where_it_is_missing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingDependency, match=r"pip install 'raglift\[datasets\]'"):
        load_dataset("hf:mteb/scifact")
    assert len(load_dataset(f"hf:{folder}")) == 3  # a folder does without


@pytest.fixture
def load_from(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    """Load datasets from a hub at an address, with a cache in a folder; of what cannot be loaded, the message."""
    from huggingface_hub import constants

    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.removeprefix(constants.ENDPOINT)

    def load(endpoint: str, home: Path, *names: str) -> list[Any]:
        monkeypatch.setattr(constants, "ENDPOINT", endpoint)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", endpoint + template)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(home))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        told: list[Any] = []
        for name in names:
            try:
                dataset = load_dataset(name)
                told.append([dataset.name, [query.id for query in dataset], len(dataset.documents)])
            except DatasetError as error:
                told.append(str(error))
        return told

    return load


def server() -> ModuleType:
    path = Path(__file__).with_name("hub_server.py")
    spec = importlib.util.spec_from_file_location("hub_server", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_an_id_is_read_from_the_hub_and_later_from_the_cache(
    folder: Path, tmp_path: Path, load_from: Callable[..., list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    hub_server = server()
    parquet = to_parquet(Path(shutil.copytree(folder, tmp_path / "parquet")))
    languages = in_languages(Path(shutil.copytree(folder, tmp_path / "languages")))
    apart = Path(shutil.copytree(folder, tmp_path / "apart"))
    shutil.move(apart / "qrels", tmp_path / "judged")
    for each in (apart, tmp_path / "judged"):
        (each / "README.md").write_text("# A card\n", encoding="utf-8")
    asked: list[str] = []
    home = tmp_path / "home"
    served = {
        "mteb/marrow": folder,
        "me/parquet": parquet,
        "mteb/languages": languages,
        "BeIR/apart-qrels": tmp_path / "judged",  # before the one whose name its own begins with
        "BeIR/apart": apart,
    }
    with hub_server.hub(served, asked) as endpoint:
        told = load_from(
            endpoint,
            home,
            "hf:mteb/marrow",
            "hf:mteb/marrow?split=train&revision=main",
            "hf:me/parquet",
            "hf:mteb/nothing",
            "hf:mteb/marrow?revision=v9",
            "hf:shy/gated",
            "hf:mteb/languages?subset=en&split=dev",
            "hf:mteb/languages",
            "hf:BeIR/apart",
        )
        monkeypatch.setenv("RAGLIFT_MAX_BYTES", "800")
        (large,) = load_from(endpoint, home, "hf:mteb/marrow")
        monkeypatch.delenv("RAGLIFT_MAX_BYTES")
    marrow = ["marrow", ["1", "3", "9"], 5]
    assert told[:3] == [marrow, ["marrow", ["5", "9"], 5], ["parquet", ["1", "3", "9"], 5]]
    assert "a hub that does not give this dataset" in told[3]
    assert "a hub that does not give this dataset" in told[4]
    assert "set HF_TOKEN" in told[5]
    assert told[6] == ["languages", ["1", "3", "5", "9"], 5]  # its card has the qrels of one split
    assert "expected subset= one of de, en" in told[7]
    assert told[8] == ["apart", ["1", "3", "9"], 5]
    assert f"corpus.jsonl: found a file of {(folder / 'corpus.jsonl').stat().st_size:,} bytes" in large
    assert any(path.endswith("/resolve/" + hub_server.COMMIT + "/corpus.jsonl") for path in asked)
    again = load_from("http://127.0.0.1:9", home, "hf:mteb/marrow", "hf:mteb/other", "hf:BeIR/apart")
    assert again[0] == marrow
    assert "a hub that does not give this dataset" in again[1]
    assert again[2] == told[8]
