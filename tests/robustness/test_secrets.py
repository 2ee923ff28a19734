"""Keys named by variables reach no file, log or page, whatever a system or a service repeats of them."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from benchmarks.search_server import SearchAnswer, SearchServer
from langchain_core.documents import BaseDocumentCompressor
from langchain_core.documents import Document as LangChainDocument
from langchain_core.retrievers import BaseRetriever

import raglift as rl
from raglift.errors import QueryFailed
from raglift.metrics import HitRate
from raglift.retrieval.services import HttpRetriever
from raglift.running.evaluation import rerank
from raglift.utilities.display import Secrets, describe_error
from raglift.utilities.secrets import KnownSecrets, is_distinctive, is_secret_name

KEY = "sk-proj-9fQ2/x+Zt7=Lw-VerySecret-0042"
LAMP = "The lamp is lit at dusk."


@pytest.fixture
def dataset() -> rl.Dataset:
    return rl.Dataset.from_dict({"When is the lamp lit?": LAMP, "What horn is there?": "The fog horn."})


def everything(evaluation: rl.Evaluation, folder: Path) -> str:
    """Return all that is saved and shown of an evaluation: files, table, page, Markdown."""
    evaluation.save(folder / "run")
    evaluation.report(folder / "page.html")
    files = [path.read_text(encoding="latin-1") for path in folder.rglob("*") if path.is_file()]
    return "\n".join([str(evaluation), repr(evaluation), evaluation.to_markdown(), *files])


class Talkative(BaseRetriever):
    """A retriever that repeats its key wherever it can."""

    def _get_relevant_documents(self, query: str, **_: Any) -> list[LangChainDocument]:
        if "horn" in query:
            raise RuntimeError(f"401: the key {KEY} is not known")
        metadata = {"source": f"https://host/?key={quote(KEY, safe='')}", "nested": {KEY: [KEY, {"again": KEY}]}}
        return [LangChainDocument(f"{LAMP} {KEY}", metadata=metadata, id=f"id-{KEY}")]


@pytest.mark.slow
@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "DB_PASSWORD"])
def test_a_key_of_the_environment_is_neither_saved_nor_shown(
    dataset: rl.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, KEY)
    evaluation = rl.evaluate(Talkative(), dataset)
    said = everything(evaluation, tmp_path)
    for form in (KEY, quote(KEY, safe=""), json.dumps(KEY)[1:-1]):
        assert form not in said
    assert f"{LAMP} ***" in said
    assert evaluation.scores.mean("retrieve", HitRate @ 1) == 0.5  # what is left still matches
    assert any("contained a key from the environment" in note for note in evaluation.notes)
    with pytest.raises(QueryFailed) as stopped:
        rl.evaluate(Talkative(), dataset, on_error="raise")
    assert KEY[8:20] not in str(stopped.value)


class Reversing(BaseDocumentCompressor):
    """A reranker that is given the documents as they were retrieved."""

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> list[LangChainDocument]:
        return list(reversed(documents))


@pytest.mark.slow
@pytest.mark.parametrize("way", ["tried", "later", "answers saved"])
def test_a_key_is_not_saved_after_a_reranker(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_API_KEY", KEY)
    dataset = rl.Dataset.from_dict({"When is the lamp lit?": LAMP})
    if way == "later":
        evaluation = rerank(rl.evaluate(Talkative(), dataset), Reversing())
    else:
        folder = tmp_path / "answers" if way == "answers saved" else None
        evaluation = rl.evaluate(Talkative(), dataset, reranker=Reversing(), answers=folder)
    assert len(evaluation.run.traces[0].stages) > 1
    assert KEY not in everything(evaluation, tmp_path)


def test_all_chunks_of_an_index_are_cleared_too(
    dataset: rl.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARCH_API_KEY", KEY)
    evaluation = rl.evaluate(lambda query: [LAMP], dataset, chunks=[rl.Chunk(f"{LAMP} {KEY}", id=KEY)])
    evaluation.save(tmp_path / "run")
    assert KEY not in (tmp_path / "run" / "chunks.jsonl").read_text(encoding="utf-8")


ECHOES: dict[str, Callable[[str], str]] = {
    "token": lambda header: header.removeprefix("Bearer "),
    "header": str,
    "token in JSON": json.dumps,
    "token in HTML": html.escape,
    "token in an address": quote,
}


@pytest.mark.slow
@pytest.mark.parametrize("echo", ECHOES)
def test_a_header_that_a_service_repeats_is_not_saved(
    dataset: rl.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, echo: str
) -> None:
    said = ECHOES[echo](f"Bearer {KEY}")
    monkeypatch.setenv("SENT_WITH_IT", f"Bearer {KEY}")  # a name that tells nothing

    def answer(request: Any) -> SearchAnswer:
        if b"horn" in request.body:
            return SearchAnswer(body={"error": f"no right for {said}"}, status=403)
        hit = {"text": f"{LAMP} {said}", "id": said, "metadata": {"you": [said]}}
        return SearchAnswer(body={"results": [hit]})

    with SearchServer(answer) as server:
        system = HttpRetriever(server.address, {"headers": {"Authorization": "${SENT_WITH_IT}"}})
        evaluation = rl.evaluate(system, dataset)
    shown = everything(evaluation, tmp_path)
    assert KEY not in shown
    assert quote(KEY) not in shown
    assert f"{LAMP} " in shown


def test_an_error_shows_no_key() -> None:
    said = describe_error(RuntimeError(f"Incorrect key: {KEY}; sent {quote(KEY, safe='')}"), secrets=[KEY])
    assert said == "RuntimeError: Incorrect key: ***; sent ***"


SECRET = "p/ss+wo=rd\"9 <x&y'z\\é"  # noqa: S105 — a password that nobody has


@pytest.mark.parametrize(
    "form",
    [
        *(str, quote, quote_plus, html.escape, lambda text: quote(text, safe="")),
        *(lambda text: json.dumps(text)[1:-1], lambda text: json.dumps(text, ensure_ascii=False)[1:-1]),
        lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    ],
)
def test_a_secret_is_hidden_in_the_forms_of_addresses_json_and_html(form: Callable[[str], str]) -> None:
    assert Secrets([SECRET]).beginning(f"you sent ({form(SECRET)})".encode()) == "you sent (***)"


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ("Bearer a1b2c3d4e5f6", "a1b2c3d4e5f6"),
        ("https://me:a1b2c3d4@host/x", "a1b2c3d4"),
        ("host=db user=me password=a1b2c3d4e5f6", "a1b2c3d4e5f6"),
    ],
)
def test_what_is_secret_in_a_header_an_address_or_a_connection_string(value: str, part: str) -> None:
    assert KnownSecrets([value], distinctive=True).cleared(f"It says {part} there.") == "It says *** there."


# What is no secret stays as it is.


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        *((name, True) for name in ("OPENAI_API_KEY", "HF_TOKEN", "REDIS_PW", "DB_PASSWD", "SENTRY_DSN", "GH_PAT")),
        *((name, True) for name in ("Authorization", "X-Api-Key", "Cookie", "apikey", "client_secret")),
        *((name, False) for name in ("PWD", "OLDPWD", "SSH_AUTH_SOCK", "TOKENIZERS_PARALLELISM", "AUTHOR", "PATH")),
        *((name, False) for name in ("HOME", "KEYBOARD_LAYOUT", "SECRETARY", "KEY_VAULT_NAME", "TOKEN_EXPIRES")),
    ],
)
def test_which_names_are_those_of_secrets(name: str, is_one: bool) -> None:
    assert is_secret_name(name) is is_one


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        *((value, True) for value in (KEY, "hunter2-2042", "a1b2c3d4", "correcthorsebatterystaple")),
        *((value, False) for value in ("late-interaction", "lighthouse", "Lighthouse", "bert-base-uncased")),
        *((value, False) for value in ("a1b2", "https://login.example.com/v2", "/", "true", "100000000000")),
        *((value, False) for value in ("2025-12-31", "the street of 1987, and the number")),
    ],
)
def test_words_numbers_and_addresses_are_taken_out_of_no_document(value: str, is_one: bool) -> None:
    assert is_distinctive(value) is is_one


def test_documents_that_have_words_of_settings_are_unchanged(
    dataset: rl.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARCH_AUTH", "lighthouse")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-0123456789abcdef")
    text = f"{LAMP} The lighthouse has keys that begin with sk-proj- and sk-proj-012."
    evaluation = rl.evaluate(lambda query, k=5: [text], dataset)
    assert {hit.chunk.text for trace in evaluation.run.traces for hit in trace.stages[0].ranking} == {text}
    assert not any("environment" in note for note in evaluation.notes)
