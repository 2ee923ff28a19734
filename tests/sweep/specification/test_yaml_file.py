from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from raglift.errors import ConfigurationError, SweepError
from raglift.sweep.specification.record import load_sweep

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "sweeps.md"


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "sweep.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def faults(folder: Path, text: str | bytes) -> list[str]:
    with pytest.raises(SweepError) as caught:
        load_sweep(written(folder, text))
    return [str(fault) for fault in caught.value.faults]


def test_every_fault_is_listed_with_its_line_in_the_order_of_the_file(tmp_path: Path) -> None:
    found = faults(
        tmp_path,
        """\
dataset: lighthose
chunkers:
  - recursive:1000/1000
  - splitter: recursive
    size: "256"
    overlapp: 20
embeddings: [bge-small,
  ./models/mine]
retrievers: [dense, {hybrid: {dense: 0.7, bm25: -1}}]
rerankers: [no]
exclude:
  - {embedding: bge-small, rerankers: none}
candidates: 20
candidates: 50
ks: [1, 5, 100]
metric: [ndcg]
match: covrage
primary: ndcg@20
systems: my_rag
when: 2024-02-30
""",
    )
    assert [each.partition("; expected ")[0] for each in found] == [
        'sweep.yaml:1: dataset: found "lighthose"',
        "sweep.yaml:3: chunkers[0]: found chunk overlap 1000",
        'sweep.yaml:5: chunkers[1].size: found "256"',
        'sweep.yaml:6: chunkers[1].overlapp: found an unknown field "overlapp"',
        'sweep.yaml:8: embeddings[1]: found "./models/mine"',
        "sweep.yaml:9: retrievers[1]: found fusion weights (0.7, -1)",
        "sweep.yaml:10: rerankers[0]: found false",
        'sweep.yaml:12: exclude[0].rerankers: found an unknown field "rerankers"',
        'sweep.yaml:14: candidates: found "candidates" again, after line 13',
        'sweep.yaml:16: metric: found an unknown field "metric"',
        'sweep.yaml:17: match: found "covrage"',
        'sweep.yaml:19: systems: found "my_rag"',
        'sweep.yaml:20: when: found "2024-02-30", which cannot be read: day is out of range for month',
        'sweep.yaml:20: when: found an unknown field "when"',
    ]


def test_paths_are_relative_to_the_folder_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("data", "texts", "model"):
        (tmp_path / name).mkdir()
    path = written(tmp_path, "dataset: data\ndocuments: ./texts\nembeddings: model\nrerankers: [./model, none]\n")
    monkeypatch.chdir("/")
    sweep = load_sweep(path)
    assert sweep.dataset == str(tmp_path / "data")
    assert sweep.documents == str(tmp_path / "texts")
    assert sweep.embeddings == (str(tmp_path / "model"),)
    assert sweep.rerankers == (str(tmp_path / "model"), "none")


def test_what_is_missing_is_said_of_the_file(tmp_path: Path) -> None:
    assert faults(tmp_path, "seed: 1\n") == [
        "sweep.yaml: dataset: found nothing; expected the name of a corpus, or a path"
    ]
    [fault] = faults(tmp_path, "dataset: lighthouse\nchunkers:\n- recursive:9/1\n- size: 9\n  overlap: 1\n")
    assert fault.startswith("sweep.yaml:4: chunkers[1].splitter: found nothing; expected a splitter, as recursive or ")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SweepError, match=r"no.yaml: found No such file or directory; expected a YAML file at"):
        load_sweep(tmp_path / "no.yaml")
    with pytest.raises(SweepError, match="found Is a directory"):
        load_sweep(tmp_path)


def test_nothing_is_imported_or_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_rag.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    assert load_sweep(written(tmp_path, "dataset: lighthouse\nsystems: my_rag:build\n")).cells()[0].system


def test_the_examples_of_the_page_are_sweeps(tmp_path: Path) -> None:
    examples = [block.partition("```")[0] for block in PAGE.read_text(encoding="utf-8").split("```yaml\n")[1:]]
    whole = [example for example in examples if example.startswith(("dataset:", "#"))]
    assert len(whole) >= 3
    for example in whole:
        assert load_sweep(written(tmp_path, example)).cells()
    for example in set(examples) - set(whole):
        assert load_sweep(written(tmp_path, "dataset: shop_support\n" + example)).cells()


def test_the_faults_that_the_page_shows_are_those_of_its_example(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    example = page.split("```yaml\n")[1].partition("```")[0]
    wrong = [("1000/100", "1000/1000"), ("minilm]", "minilmm]"), ("[1, 5, 10]", "[1, 5, 100]")]
    for right, mistaken in [*wrong, ("  - {embedding: minilm", "  - {embedding: bge-small")]:
        example = example.replace(right, mistaken)
    with pytest.raises(SweepError) as caught:
        load_sweep(written(tmp_path, example.replace("primary: ndcg@10", "primary: ndcg@5")))
    shown = page.split("```text\n")[1].partition("```")[0].splitlines()[1:]
    assert [f"  {fault}" for fault in caught.value.faults] == shown


def test_the_first_cell_is_the_one_that_the_page_names(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    sweep = load_sweep(written(tmp_path, page.split("```yaml\n")[1].partition("```")[0]))
    assert f"The first line printed is `{sweep.cells()[0].name}`" in page
    scope: dict[str, Any] = {}
    exec(page.split("```python\n")[1].partition("for cell")[0], scope)  # noqa: S102 — what the page shows
    assert scope["sweep"] == sweep


def test_a_key_that_is_there_twice_is_a_fault_though_all_else_is_right(tmp_path: Path) -> None:
    [fault] = faults(tmp_path, "dataset: lighthouse\nseed: 1\nseed: 2\n")
    assert fault.startswith("sweep.yaml:3: seed")


def test_what_is_no_path_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="load_sweep: found a dict; expected the path of a YAML file"):
        load_sweep({"dataset": "lighthouse"})  # type: ignore[arg-type]
