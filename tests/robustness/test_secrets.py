"""Secrets that a system, a service or an exception repeats are neither kept nor shown, in whatever form they come."""

from __future__ import annotations

import base64
import html
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from langchain_core.documents import BaseDocumentCompressor
from langchain_core.documents import Document as LangChainDocument
from langchain_core.retrievers import BaseRetriever
from pydantic import SecretStr

import raglift as rl
from raglift.adapters.clearing import Clearing
from raglift.base.display import describe_error
from raglift.base.secret_holders import Clearance, secrets_held_by
from raglift.base.secrets import KnownSecrets, is_secret_name, is_unmistakable
from raglift.components.services import HttpRetriever
from raglift.errors import QueryFailed
from raglift.metrics import HitRate
from raglift.records.documents import Chunk
from raglift.records.rankings import Ranking
from raglift.running.evaluation import rerank
from raglift.testing.search_server import SearchAnswer, SearchServer

KEY = "sk-proj-9fQ2/x+Zt7=Lw-VerySecret-0042"
LAMP = "The lamp is lit at dusk."


@pytest.fixture
def dataset() -> rl.Dataset:
    return rl.Dataset.from_dict({"When is the lamp lit?": LAMP, "What horn is there?": "The fog horn."})


def kept(evaluation: rl.Evaluation, folder: Path) -> str:
    """Return all that is kept and shown of an evaluation: files, table, page, Markdown, exports."""
    evaluation.save(folder / "run")
    (folder / "page.html").write_text(evaluation.to_markdown(), encoding="utf-8")
    evaluation.report(folder / "page.html.report.html")
    files = [path for path in folder.rglob("*") if path.is_file()]
    return "\n".join([str(evaluation), repr(evaluation), *(path.read_bytes().decode("latin-1") for path in files)])


# What a system gives.


class Holder(BaseRetriever):
    """A retriever that holds a key of pydantic's, and repeats it wherever it can."""

    key: SecretStr = SecretStr(KEY)

    def _get_relevant_documents(self, query: str, **_: Any) -> list[LangChainDocument]:
        said = self.key.get_secret_value()
        if "horn" in query:
            raise RuntimeError(f"401: the key {said} is not known")
        metadata = {"source": f"https://host/?key={quote(said, safe='')}", "nested": {said: [said, {"again": said}]}}
        return [LangChainDocument(f"{LAMP} {said}", metadata=metadata, id=f"id-{said}")]


def function_with_a_key_around_it() -> Callable[..., Any]:
    api_key = KEY

    def find(query: str, k: int = 5) -> list[Any]:
        if "horn" in query:
            raise RuntimeError(f"401: {api_key}")
        return [{"text": f"{LAMP} {api_key}", "id": api_key, "metadata": {"echo": api_key}}]

    return find


class WithHeaders:
    """A client with a session, as requests' users write them."""

    def __init__(self) -> None:
        import requests

        self._session = requests.Session()
        self._session.headers["Authorization"] = f"Bearer {KEY}"

    def retrieve_one(self, query: str, k: int) -> Ranking:
        said = str(self._session.headers["Authorization"]).removeprefix("Bearer ")
        if "horn" in query:
            raise RuntimeError(f"401: {said}")
        return Ranking.of([(Chunk(f"{LAMP} {said}", id=said, doc_id=said, metadata={"echo": [said]}), 1.0)])


def with_default(query: str, k: int = 5, token: str = KEY) -> list[Any]:
    if "horn" in query:
        raise RuntimeError(f"401: {token}")
    return [{"text": f"{LAMP} {token}", "id": token}]


SERVICE_TOKEN = KEY


def echo(query: str, said: str) -> Ranking:
    if "horn" in query:
        raise RuntimeError(f"401: {said}")
    return Ranking.of([(Chunk(f"{LAMP} {said}", id=said), 1.0)])


class WithGlobal:
    """A client whose method uses a variable of its module."""

    def retrieve_one(self, query: str, k: int) -> Ranking:
        return echo(query, SERVICE_TOKEN)


class OfItsClass:
    password = KEY

    def retrieve_one(self, query: str, k: int) -> Ranking:
        return echo(query, self.password)


SYSTEMS: dict[str, Callable[[], Any]] = {
    "SecretStr of a LangChain retriever": Holder,
    "variable around a function": function_with_a_key_around_it,
    "session with headers": WithHeaders,
    "variable of a module that a method uses": WithGlobal,
    "attribute of a class": OfItsClass,
    "default of an argument": lambda: with_default,
    "functools.partial": lambda: partial(with_default, token=KEY),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_key_that_the_system_holds_is_not_kept(dataset: rl.Dataset, tmp_path: Path, name: str) -> None:
    evaluation = rl.evaluate(SYSTEMS[name](), dataset)
    said = kept(evaluation, tmp_path)
    for form in (KEY, quote(KEY, safe=""), KEY[8:24], json.dumps(KEY)[1:-1]):
        assert form not in said
    assert f"{LAMP} ***" in said
    assert evaluation.scores.mean("retrieve", HitRate @ 1) == 0.5  # what is left still matches
    assert any("held a key of the system or a secret of the environment" in note for note in evaluation.notes)


@pytest.mark.parametrize("name", SYSTEMS)
def test_nor_is_it_told_where_the_first_failure_stops(name: str) -> None:
    horn = rl.Dataset.from_dict({"What horn is there?": "The fog horn."})
    with pytest.raises(QueryFailed) as stopped:
        rl.evaluate(SYSTEMS[name](), horn, on_error="raise")
    assert KEY[8:20] not in str(stopped.value)


@pytest.mark.parametrize(
    "variable",
    ["REDIS_PW", "SEARCH_AUTH", "MY_DB_PASSWD", "PG_DSN", "SEARCH_LOGIN", "X_API_KEY", "VENDOR_CREDS", "A_JWT"],
)
def test_a_value_of_the_environment_is_not_kept(
    dataset: rl.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    secret = "postgresql://me:Pw-77-hidden@db/x" if variable == "PG_DSN" else "Pw-77-hidden"
    monkeypatch.setenv(variable, secret)

    def find(query: str, k: int = 5) -> list[Any]:
        if "horn" in query:
            raise RuntimeError("login with Pw-77-hidden failed")
        return [{"text": f"{LAMP} Pw-77-hidden", "id": "Pw-77-hidden"}]

    evaluation = rl.evaluate(find, dataset)
    evaluation.save(tmp_path / "run")
    said = str(evaluation) + "".join(path.read_bytes().decode("latin-1") for path in (tmp_path / "run").iterdir())
    assert "Pw-77-hidden" not in said


class Talkative(BaseRetriever):
    """A retriever that writes its key into every document."""

    api_key: SecretStr = SecretStr(KEY)

    def _get_relevant_documents(self, query: str, **_: Any) -> list[LangChainDocument]:
        said = self.api_key.get_secret_value()
        return [
            LangChainDocument(f"Lamp {n} is lit. {said}", metadata={"source": f"{n}", "key": said}) for n in range(4)
        ]


class Reversing(BaseDocumentCompressor):
    """A reranker that knows no key, and is given the documents as they were retrieved."""

    copies: bool = False

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> list[LangChainDocument]:
        found = reversed(documents)
        return [LangChainDocument(each.page_content, metadata=each.metadata) if self.copies else each for each in found]


@pytest.mark.parametrize("copies", [False, True], ids=["same documents", "copies"])
@pytest.mark.parametrize("way", ["tried", "deployed", "later", "answers kept"])
def test_a_key_of_the_retriever_is_not_kept_after_a_reranker(tmp_path: Path, way: str, copies: bool) -> None:
    dataset = rl.Dataset.from_dict({"Which lamp is lit?": "Lamp 3 is lit."})
    compressor = Reversing(copies=copies)
    if way == "deployed":
        from langchain_classic.retrievers import ContextualCompressionRetriever

        system = ContextualCompressionRetriever(base_retriever=Talkative(), base_compressor=compressor)
        evaluation = rl.evaluate(system, dataset)
    elif way == "later":
        evaluation = rerank(rl.evaluate(Talkative(), dataset), compressor)
    else:
        folder = tmp_path / "answers" if way == "answers kept" else None
        evaluation = rl.evaluate(Talkative(), dataset, reranker=compressor, answers=folder)
    stages = evaluation.run.traces[0].stages
    assert len(stages) > 1
    for stage in stages:
        assert [hit.chunk.metadata["key"] for hit in stage.ranking] == ["***"] * 4
        assert all(hit.chunk.text.endswith("is lit. ***") for hit in stage.ranking)
    assert stages[-1].ranking[0].chunk.text == "Lamp 3 is lit. ***"
    assert all(info.changed_hits is None for info in evaluation.run.stages)
    assert any("retrieve: 4 hits held a key" in note for note in evaluation.notes)


def test_all_chunks_of_an_index_are_cleared_too(dataset: rl.Dataset, tmp_path: Path) -> None:
    evaluation = rl.evaluate(with_default, dataset, chunks=[rl.Chunk(f"{LAMP} {KEY}", id=KEY)])
    evaluation.save(tmp_path / "run")
    assert KEY not in (tmp_path / "run" / "chunks.jsonl").read_text(encoding="utf-8")


# What an HTTP service gives.


BASIC = base64.b64encode(b"raglift:hunter2-2042").decode()
ECHOES: dict[str, tuple[str, Callable[[str], str]]] = {
    "token": (f"Bearer {KEY}", lambda header: header.removeprefix("Bearer ")),
    "header": (f"Bearer {KEY}", str),
    "token, cut off": (f"Bearer {KEY}", lambda header: header.removeprefix("Bearer ")[:20]),
    "token, cut off before an ellipsis": (f"Bearer {KEY}", lambda header: header.removeprefix("Bearer ")[:21] + "…"),
    "token, escaped twice": (f"Bearer {KEY}", lambda header: quote(quote(header, safe=""), safe="")),
    "token in JSON in JSON": (f"Bearer {KEY}", lambda header: json.dumps(json.dumps(header))),
    "token in HTML in an address": (f"Bearer {KEY}", lambda header: quote(html.escape(header))),
    "password that the service decodes": (f"Basic {BASIC}", lambda _: "hunter2-2042"),
    "user and password": (f"Basic {BASIC}", lambda _: "raglift:hunter2-2042"),
    "password in another login": (f"Basic {BASIC}", lambda _: base64.b64encode(b"somebody:hunter2-2042").decode()),
    "login, cut off": (f"Basic {BASIC}", lambda header: header[:20]),
}


@pytest.mark.parametrize("echo", ECHOES)
def test_a_header_that_a_service_repeats_is_not_kept(
    dataset: rl.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, echo: str
) -> None:
    header, form = ECHOES[echo]
    said = form(header)
    monkeypatch.setenv("SENT_WITH_IT", header)  # a name that tells nothing

    def answer(request: Any) -> SearchAnswer:
        if b"horn" in request.body:
            return SearchAnswer(body={"error": f"no right for {said}"}, status=403)
        hit = {"text": f"{LAMP} {said}", "id": said, "metadata": {"you": [said]}}
        return SearchAnswer(body={"results": [hit]})

    with SearchServer(answer) as server:
        system = HttpRetriever(server.address, {"headers": {"Authorization": "${SENT_WITH_IT}"}})
        evaluation = rl.evaluate(system, dataset)
    evaluation.save(tmp_path / "run")
    files = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "run").glob("*.json*"))
    for found in (said, json.dumps(said)[1:-1], json.dumps(json.dumps(said))[3:-3]):
        assert found not in files + str(evaluation)
    assert f"{LAMP} " in files


# What is no secret stays as it is.


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        *(
            (name, True)
            for name in ("OPENAI_API_KEY", "HF_TOKEN", "REDIS_PW", "SEARCH_AUTH", "DB_PASSWD", "SENTRY_DSN")
        ),
        *((name, True) for name in ("Authorization", "X-Api-Key", "Cookie", "apikey", "client_secret", "GH_PAT")),
        *((name, False) for name in ("PWD", "OLDPWD", "SSH_AUTH_SOCK", "TOKENIZERS_PARALLELISM", "AUTHOR", "PATH")),
        *((name, False) for name in ("HOME", "LANG", "KEYBOARD_LAYOUT", "COLUMNS", "PASSAGES", "PATTERN")),
    ],
)
def test_names_tell_what_is_secret(name: str, is_one: bool) -> None:
    assert is_secret_name(name) is is_one


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        *((value, True) for value in (KEY, "hunter2-2042", "a1b2c3d4", "Pw-77-hidden", "correcthorsebatterystaple")),
        *((value, False) for value in ("late-interaction", "lighthouse", "Lighthouse", "BASIC", "bert-base-uncased")),
        *((value, False) for value in ("a1b2", "https://login.example.com/v2", "/", "true", "sentencepiece")),
    ],
)
def test_words_and_addresses_are_taken_out_of_no_text(value: str, is_one: bool) -> None:
    assert is_unmistakable(value) is is_one


def test_documents_that_have_words_of_settings_are_unchanged(
    dataset: rl.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARCH_AUTH", "lighthouse")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-0123456789abcdef")
    text = f"{LAMP} The lighthouse has keys that begin with sk-proj- and sk-proj-012."
    evaluation = rl.evaluate(lambda query, k=5: [text], dataset)
    assert {hit.chunk.text for trace in evaluation.run.traces for hit in trace.stages[0].ranking} == {text}
    assert not any("secret" in note for note in evaluation.notes)


MANUAL = {
    "password_reset": "To reset your password open Settings and choose Security. The link is valid for 24 hours.",
    "api_tokens.md": "API tokens are made under Developer. Each token has a scope and may be revoked at any time.",
    "billing": "Invoices are sent on the first day of each month to the billing address.",
}


def manual(query: str, k: int = 10) -> list[dict[str, str]]:
    return [{"id": name, "text": text} for name, text in MANUAL.items()]


PATIENTS = "The study found that 42 patients improved. Key: dosage-2024-05-high matters."
NAMED = {
    "key_findings": "42 patients improved",
    "key_takeaway": "dosage-2024-05-high",
    "login": "octocat-42-at-work",
    "secretary": "patients-2024-improved",
    "signature": "study(found1, that2)",
    "tokens": ["42", "dosage-2024-05-high"],
    "token": "dosage-2024-05-high",
}
WORKER = f"{PATIENTS} Opened by octocat-42-at-work; patients-2024-improved; study(found1, that2)."


def langchain_store() -> Any:
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_core.vectorstores import InMemoryVectorStore

    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents([LangChainDocument(WORKER, metadata=NAMED)])
    return store


def llama_index_retriever() -> Any:
    from llama_index.core import MockEmbedding, VectorStoreIndex
    from llama_index.core.schema import TextNode

    nodes = [TextNode(text=WORKER, metadata=NAMED)]
    return VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=8)).as_retriever()


def haystack_retriever() -> Any:
    from haystack import Document
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore()
    store.write_documents([Document(content=WORKER, meta=NAMED)])
    return InMemoryBM25Retriever(store)


class WithDocs:
    """A client that holds its documents beside its settings."""

    def __init__(self) -> None:
        self.docs = [{"body": WORKER, **NAMED}]
        self.token_pattern = r"(?u)study(found1, that2)"  # noqa: S105 — as scikit-learn's vectorizers have it
        self.token_model = "dosage-2024-05-high"  # noqa: S105 — none either
        self.headers = {"title": "42 patients improved"}

    def retrieve_one(self, query: str, k: int) -> Ranking:
        return Ranking.of([(Chunk(WORKER, id="1"), 1.0)])


ORDINARY: dict[str, tuple[Callable[[], Any], set[str]]] = {
    "documents by their names": (lambda: manual, set(MANUAL.values())),
    "LangChain's store in memory": (langchain_store, {WORKER}),
    "a retriever of it": (lambda: langchain_store().as_retriever(), {WORKER}),
    "LlamaIndex's index in memory": (llama_index_retriever, {WORKER}),
    "Haystack's store in memory": (haystack_retriever, {WORKER}),
    "documents and settings of an object": (WithDocs, {WORKER}),
}


@pytest.mark.filterwarnings("ignore:.langchain-community. is being sunset:DeprecationWarning")
@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_documents_are_unchanged(name: str) -> None:
    make, texts = ORDINARY[name]
    evaluation = rl.evaluate(make(), rl.Dataset.from_dict({"Who improved in the study?": "42 patients improved"}))
    assert {hit.chunk.text for trace in evaluation.run.traces for hit in trace.stages[0].ranking} == texts
    assert not any("secret" in note for note in evaluation.notes)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("TOKEN_EXPIRES", "2025-12-31"),
        ("AUTH_SINCE", "2025-12-31T08:00"),
        ("MAX_TOKENS_PER_DAY", "10000000"),
        ("MAXTOKENS", "10000000-a-day"),
        ("API_TOKEN", "100000000000"),
        ("KEY_VAULT_NAME", "contoso-prod-2-vault"),
        ("SSH_KEY_PATH", "/home/nobody/.ssh/id_ed25519"),
        ("SSH_KEY", "~/keys/id_ed25519"),
        ("LOGIN_SHELL", "/usr/bin/zsh5.9"),
        ("AUTH_URL", "https://login.example.com/v2"),
        ("AUTH_USER", "worker-17@example.com"),
        ("AWS_ACCESS_KEY_ID", "contoso-prod-2-vault"),
        ("TOKEN_TYPE", "urn:oauth2:jwt"),
        ("PASSWORD_HINT", "the street of 1987, and the number"),
        ("SECRETARY", "contoso-prod-2-vault"),
    ],
)
def test_values_that_only_sound_like_secrets_stay_in_documents(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    assert Clearance().text(f"It says {value} there.") == f"It says {value} there."


@pytest.mark.parametrize(
    ("variable", "value", "secret"),
    [
        ("OPENAI_API_KEY", KEY, KEY),
        ("STORE_ACCESS_KEY", "/jq3rXUtnF9EMI/K7MDe4G+bPxRf2CY", "/jq3rXUtnF9EMI/K7MDe4G+bPxRf2CY"),
        ("DB_PASSWORD", "fogHornLampWickOil", "fogHornLampWickOil"),
        ("OTLP_HEADERS", "Authorization=Bearer a1b2c3d4e5f6", "a1b2c3d4e5f6"),
        ("SEARCH_AUTH", "Bearer a1b2c3d4e5f6", "a1b2c3d4e5f6"),
        ("PG_DSN", "host=db user=me password=a1b2c3d4e5f6", "a1b2c3d4e5f6"),
        ("AUTH_URL", "https://me:a1b2c3d4@host/x", "a1b2c3d4"),
    ],
)
def test_tokens_of_the_environment_are_taken_out_of_documents(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, secret: str
) -> None:
    monkeypatch.setenv(variable, value)
    assert Clearance().text(f"It says {secret} there.") == "It says *** there."


def test_metadata_of_any_kind_is_cleared_or_left_alone() -> None:
    import numpy as np

    class Odd:
        def __str__(self) -> str:
            return f"odd {KEY}"

    class Bad:
        def __str__(self) -> str:
            raise RuntimeError(KEY)

    clearance = Clearance(SecretStr(KEY))
    bad, numbers = Bad(), np.zeros(3)
    value = {"odd": Odd(), "bad": bad, "numbers": numbers, "texts": np.array([KEY]), "tuple": (1, None, KEY), KEY: 2.5}
    assert clearance.may_be_in(value)
    cleared = clearance.value(value)
    assert cleared["odd"] == "odd ***"
    assert (cleared["bad"], cleared["numbers"]) == (bad, numbers)
    assert cleared["texts"] == "['***']"
    assert cleared["tuple"] == [1, None, "***"]
    assert cleared["***"] == 2.5


# Where secrets are looked for, and how long it takes.


class Endless:
    """An object that leads to ever new ones."""

    def __init__(self) -> None:
        self.api_key = KEY

    def __getattr__(self, name: str) -> Endless:
        return Endless()


def many(count: int) -> Iterator[Any]:
    circle: list[Any] = []
    circle.append(circle)
    yield circle
    yield {f"item {number}": [object()] for number in range(count)}


def test_looking_for_secrets_ends_and_calls_nothing() -> None:
    class Watched:
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(f"{name} was asked for")

    started = time.perf_counter()
    assert secrets_held_by(Endless(), *many(20_000)).tokens == {KEY}
    assert not secrets_held_by([Watched()]).named
    assert time.perf_counter() - started < 5


def test_texts_without_secrets_cost_little(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(10):
        monkeypatch.setenv(f"SERVICE_{number}_API_KEY", f"key-{number}-{'0123456789abcdef' * 2}")
    clearance = Clearance()
    text = "The keeper trims the wick and lights the lamp at dusk. " * 20
    started = time.perf_counter()
    for number in range(20_000):
        assert not clearance.may_be_in(text, str(number), "lamp.md", {"page": number, "source": "lamp.md"})
    assert time.perf_counter() - started < 4  # 200 s for 1,000,000 hits of distinct texts on a busy machine, usually 20


@pytest.mark.parametrize("kind", ["list", "array"])
def test_vectors_in_metadata_cost_little(kind: str) -> None:
    import numpy as np

    clearing = Clearing(SecretStr(KEY))
    vector = [0.1] * 1_536
    chunks = [
        Chunk(LAMP, id=str(number), metadata={"vector": np.array(vector) if kind == "array" else list(vector)})
        for number in range(2_000)
    ]
    started = time.perf_counter()
    for chunk in chunks:
        assert clearing.chunk(chunk) is chunk
    assert time.perf_counter() - started < 1  # 0.1 s when nothing else runs, 1.5 s with a look at each number


class Counted(str):
    """A text that counts how often it is searched."""

    searched = 0

    def __contains__(self, part: object) -> bool:
        type(self).searched += 1
        return super().__contains__(str(part))


def test_a_chunk_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counted, "searched", 0)
    chunk = Chunk(LAMP, id="1", metadata={"source": Counted("lamp.md")})
    clearing = Clearing(SecretStr(KEY))
    first = clearing.ranking(Ranking.of([(chunk, 1.0)]))
    before = Counted.searched
    assert before > 0
    clearing.of_a_stage().ranking(Ranking.of([(chunk, 1.0)]))
    clearing.of_a_stage().ranking(first)
    assert Counted.searched == before


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("concurrency", [1, 4])
def test_clearing_is_no_time_of_the_system(
    dataset: rl.Dataset, monkeypatch: pytest.MonkeyPatch, asynchronous: bool, concurrency: int
) -> None:
    cleared = Clearing.ranking

    def slow(self: Clearing, ranking: Ranking) -> Ranking:
        time.sleep(0.2)
        return cleared(self, ranking)

    monkeypatch.setattr(Clearing, "ranking", slow)

    def find(query: str) -> list[str]:
        return [LAMP]

    async def find_async(query: str) -> list[str]:
        return [LAMP]

    evaluation = rl.evaluate(find_async if asynchronous else find, dataset, concurrency=concurrency, timeout=0.15)
    assert all(trace.error is None and trace.stages[0].seconds < 0.15 for trace in evaluation.run.traces)


def test_a_long_text_full_of_beginnings_takes_time_in_proportion() -> None:
    secrets = KnownSecrets([KEY, "aaaaaaaa1" * 20])
    times = []
    for size in (20_000, 80_000):
        started = time.perf_counter()
        secrets.cleared("aaaaaaaa1aaaaaaa" * size)
        times.append(time.perf_counter() - started)
    assert times[1] < 12 * times[0] + 0.5


def test_an_error_shows_no_part_of_a_key() -> None:
    said = describe_error(RuntimeError(f"Incorrect key: {KEY[:22]}…; sent {quote(quote(KEY))}"), secrets=[KEY])
    assert said == "RuntimeError: Incorrect key: ***…; sent ***"
