from __future__ import annotations

import asyncio
import gc
import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from raglift import cli
from raglift.metrics.registry import MEASURES
from raglift.results.evaluation import Evaluation
from raglift.running.evaluation import evaluate
from raglift.running.scoring import rescore
from raglift.testing.fakes import FakeReranker, FakeRetriever
from raglift.testing.openai_server import OpenAIServer
from raglift.types.dataset import Dataset
from raglift.types.labels import Annotator, Fact, Passage, Query

if "PYTEST_XDIST_WORKER" in os.environ:
    # Workers that share the cores and wait for each other's threads are many times slower than one thread each
    os.environ.setdefault("OMP_NUM_THREADS", "1")

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # As in a shell's background job: what is started from here would ignore Ctrl-C too, which some tests send
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # read when Haystack is imported

PROFILE = os.environ.get("RAGLIFT_TEST_PROFILE", "ci")
"""How many examples Hypothesis draws: `quick`, `ci` or `full`, set by the target of the same name in the Makefile."""
for name, examples in {"quick": 10, "ci": 25, "full": 100}.items():
    # No deadline: a slow machine is not a fault of the code. The other settings are those of the environment.
    hypothesis.settings.register_profile(name, hypothesis.settings(), deadline=None, max_examples=examples)
hypothesis.settings.load_profile(PROFILE)

BOOK_TESTS = (
    "test_the_whole_walkthrough_",
    "test_the_real_book_is_asked_",
    "test_a_notebook_shows_what_is_committed[01_",
)
"""They share one walk through the book, the longest of all work, if they are one after the other in one worker."""
MODEL_TESTS = (
    "sweep/",
    "retrieval/",
    "adapters/test_haystack.py",
    "adapters/test_llama_index",
    "adapters/test_langchain",
    "adapters/test_same_index.py",
    "adapters/test_adapt.py",
    "integrations/",
    "docs/test_references.py",
    "running/",
    "classes/",
)
"""They load models of PyTorch, dear ones first: importing it takes each worker as long as ten of them."""

GROUPS = ("the book", "the models")


SLOW_AS_A_WHOLE = re.compile(r"^pytestmark = (\[[^\]]*?)?pytest\.mark\.(slow|full)\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out a module that is slow as a whole where slow tests do not run: its imports take as long as they do."""
    if collection_path.suffix != ".py":
        return None
    marked = SLOW_AS_A_WHOLE.search(collection_path.read_text(encoding="utf-8"))
    return True if marked and f"not {marked[2]}" in config.option.markexpr else None


def pytest_collection_finish() -> None:
    """Let no later collection of garbage look through the frameworks that were imported."""
    gc.freeze()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what needs a browser as slow."""
    if "browser" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.slow)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each worker some of the modules with slow tests, at its beginning.

    With `--dist worksteal` a worker begins with one of as many equal parts of the list as there are workers, and one
    that has done its part takes from the end of another's. So slow tests that stood together would be one worker's,
    and tests of one module that stood apart would make its fixtures and imports once for each worker.
    """
    scale_examples(items)
    workers = max(1, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))
    modules: dict[str, list[pytest.Item]] = {}
    for item in sorted(items, key=rank_among_models):
        modules.setdefault(group_of(item), []).append(item)
    weights = {module: sum(map(is_slow, of)) for module, of in modules.items()}
    share = sum(weights.values()) // workers
    weights |= {group: share for group in GROUPS if group in modules}
    heads: list[list[str]] = [[] for _ in range(workers)]
    loads = [0] * workers
    for module in sorted(filter(weights.get, modules), key=lambda module: -weights[module]):
        lightest = loads.index(min(loads))
        heads[lightest].append(module)
        loads[lightest] += weights[module]
    quick = [item for module in reversed(modules) if not weights[module] for item in modules[module]]
    size, items[:] = len(items) // workers, []
    for head in heads:
        # Where few tests of a module are slow, each takes long, and should not be the last of all
        ordered = sorted(head, key=lambda module: (module not in GROUPS, weights[module]))
        tests = [item for module in ordered for item in modules[module]]
        rest = max(0, size - len(tests))
        items += tests + quick[:rest]
        del quick[:rest]
    items += quick


def group_of(item: pytest.Item) -> str:
    """Return what is done by one worker: a module, or all that shares what takes long."""
    if item.name.startswith(BOOK_TESTS):
        return GROUPS[0]
    return GROUPS[1] if rank_among_models(item) < len(MODEL_TESTS) else item.nodeid.partition("::")[0]


def rank_among_models(item: pytest.Item) -> int:
    place = item.nodeid.removeprefix("tests/")
    return next((rank for rank, start in enumerate(MODEL_TESTS) if place.startswith(start)), len(MODEL_TESTS))


def is_slow(item: pytest.Item) -> bool:
    return any(map(item.get_closest_marker, ("slow", "full")))


def scale_examples(items: list[pytest.Item]) -> None:
    """Let a test that sets `max_examples` itself draw the same share of it as the profile does of 100.

    So the number in a test is what `make full` draws. Hypothesis has no public way to read the settings of a test.
    """
    share = hypothesis.settings.default.max_examples / 100
    tests = {function for item in items if hypothesis.is_hypothesis_test(function := getattr(item, "obj", None))}
    for test in {getattr(test, "__func__", test) for test in tests}:
        given = test._hypothesis_internal_use_settings
        if given.max_examples != hypothesis.settings.default.max_examples:
            scaled = max(min(given.max_examples, 5), round(given.max_examples * share))
            test._hypothesis_internal_use_settings = hypothesis.settings(given, max_examples=scaled)


@pytest.fixture(scope="session")
def is_full() -> bool:
    """Whether this is `make full`, where repetitions are as many as are worth it before a release."""
    return PROFILE == "full"


@pytest.fixture(scope="session")
def corpora_folder() -> Path:
    """Texts that are not shipped: in $RAGLIFT_CORPORA, else in shared/ next to the repository."""
    named = os.environ.get("RAGLIFT_CORPORA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "corpora"
    if not folder.is_dir():
        pytest.skip(f"no corpora at {folder}: set RAGLIFT_CORPORA to a folder that holds them")
    return folder


@pytest.fixture(scope="session")
def book_path(corpora_folder: Path) -> Path:
    """War and Peace as Project Gutenberg publishes it."""
    path = corpora_folder / "war_and_peace" / "2600-0.txt"
    if not path.is_file():
        pytest.skip(f"no text of War and Peace at {path}")
    return path


@pytest.fixture(scope="session")
def book_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache of `walk`, empty until its first."""
    return tmp_path_factory.mktemp("book-cache")


@pytest.fixture(scope="session")
def walk(book_path: Path, book_cache: Path) -> Callable[[], subprocess.CompletedProcess[str]]:
    """Walk through all questions about the book, in a process of its own, with the models of notebook 1."""
    environment = {
        **os.environ,
        "RAGLIFT_CACHE": str(book_cache),
        "RAGLIFT_CORPORA": str(book_path.parents[1]),
        "RAGLIFT_PROGRESS": "1",
        "COLUMNS": "200",
    }
    command = [sys.executable, "-m", "raglift", "walkthrough", "--all"]
    return lambda: subprocess.run(command, capture_output=True, text=True, env=environment, check=True)


@pytest.fixture(scope="session")
def first_walk(walk: Callable[[], subprocess.CompletedProcess[str]]) -> subprocess.CompletedProcess[str]:
    """The walk that embeds the book: minutes of work that others on the same model and chunks need not do again."""
    return walk()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium; the tests that need it are skipped without it, or fail where it is required.

    It is closed after each module: while it is open, no other test of this process can run an event loop.
    """
    program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if program is None:
        reason = "no chromium: apt-get install chromium-headless-shell"
        if os.environ.get("RAGLIFT_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    unused = ("gpu", "quic", "background-networking", "component-update", "sync")
    quiet = ["--no-sandbox", "--no-first-run", *(f"--disable-{feature}" for feature in unused)]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=quiet)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session", autouse=True)
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of the test session's own, shared by its workers, so that no text is embedded twice."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "raglift-cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAGLIFT_CACHE", str(folder))
        patch.setenv("RAGLIFT_PROGRESS", "0")
        yield folder


@pytest.fixture(scope="session", autouse=True)
def main_event_loop() -> Iterator[None]:
    """Give the main thread an event loop that is closed in the end.

    Libraries that ask for the current one (LlamaIndex's `asyncio_run`) would make one that nobody closes: a
    ResourceWarning in some later test.
    """
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    loop.close()


@pytest.fixture(scope="session", autouse=True)
def loopback_only() -> Iterator[None]:
    """Refuse every connection that would leave this machine."""
    connect, lookup = socket.socket.connect, socket.getaddrinfo

    def checked_connect(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_loopback(address[0]):
            raise ConnectionRefusedError(f"a test tried to reach {address[0]}")
        connect(self, address)

    def checked_lookup(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host is not None and not _is_loopback(host):
            raise socket.gaierror(f"a test tried to look up {host}")
        return lookup(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", checked_connect)
        patch.setattr(socket, "getaddrinfo", checked_lookup)
        yield


def _is_loopback(host: str | bytes) -> bool:
    name = host.decode() if isinstance(host, bytes) else host
    return name in ("localhost", "::1") or name.startswith("127.")


@pytest.fixture(autouse=True)
def no_metrics_of_others() -> Iterator[None]:
    """Forget the metrics that a test registers, itself or by a module that it loads."""
    before = dict(MEASURES)
    yield
    if before != MEASURES:
        MEASURES.clear()
        MEASURES.update(before)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command line in this process; returns (exit code, standard output, standard error)."""

    def command(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["raglift", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        out, err = capsys.readouterr()
        return int(stopped.value.code or 0), out, err

    return command


@pytest.fixture
def no_openai_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No key, no proxy, no .env: nothing that the machine has set."""
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_ORG_ID"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def question_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """A loopback server whose model writes questions and judges them well; and a cache of the test's own."""
    path = Path(__file__).parent / "apps" / "generation" / "writer.py"
    spec = importlib.util.spec_from_file_location("writer_of_questions", path)
    assert spec is not None
    assert spec.loader is not None
    writer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(writer)
    monkeypatch.setenv("RAGLIFT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    with OpenAIServer(key="test", replies=writer.write) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        yield server


@pytest.fixture(scope="session")
def tiny_cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cross-encoder with a tiny random BERT, on disk: the real class, not a trained one."""
    return write_tiny_cross_encoder(tmp_path_factory.mktemp("tiny-cross-encoder"))


def write_tiny_cross_encoder(folder: Path) -> Path:
    """Write a cross-encoder with a tiny random BERT."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = [*special, "the", "lamp", "fog", "horn", "keeper", "island", "boat", "tide", "who", "what", "is", "a", "of"]
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        num_labels=1,
        max_position_embeddings=64,
        initializer_range=1.0,
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    vocabulary = {word: number for number, word in enumerate(words)}
    BertTokenizer(vocabulary, model_max_length=64).save_pretrained(folder)
    return folder


STONES = 6


def stone_question(number: int) -> str:
    return f"Where does stone number {number:04d} lie?"


def stone_answer(number: int) -> str:
    return f"the stone with the number {number:04d} lies at the ford"


def stone_filler(rank: int) -> str:
    return f"nothing to the point, line {rank}"


def stones(count: int, tags: Sequence[Sequence[str]] = (), unlabelled: Sequence[int] = ()) -> Dataset:
    return Dataset(
        tuple(
            Query(
                f"q{number:04d}",
                stone_question(number),
                () if number in unlabelled else (Fact((Passage(stone_answer(number)),)),),
                tuple(tags[number]) if tags else (),
            )
            for number in range(count)
        ),
        name="stones",
    )


def stone_results(number: int, rank: int | None) -> list[str]:
    """Return six hits, with the answer at its rank; None for a query that does not find it."""
    hits = [stone_filler(place) for place in range(1, STONES + 1)]
    return hits if rank is None else [*hits[: rank - 1], stone_answer(number), *hits[rank - 1 : -1]]


JUDGE = Annotator("openai:gpt-4o-mini", "relevance@3f9a1c07", "2026-11-21")
"""A model that judged labels."""


@pytest.fixture(scope="session")
def judged_by_model() -> Callable[..., Evaluation]:
    """Score an evaluation again as if a model had judged the labels of its first queries, or written the queries.

    `irrelevant` holds, for a query's location, the locations of the fillers among its hits that the model judged
    irrelevant.
    """

    def build(
        evaluation: Evaluation,
        *,
        labels: int = 0,
        written: int = 0,
        irrelevant: Mapping[int, Sequence[int]] | None = None,
        **options: Any,
    ) -> Evaluation:
        def query(number: int, given: Query) -> Query:
            judge = JUDGE if number < labels else None
            facts = tuple(Fact(tuple(replace(one, annotator=judge) for one in fact.passages)) for fact in given.facts)
            fillers = map(stone_filler, (irrelevant or {}).get(number, ()))
            unwanted = tuple(Passage(text, grade=0, annotator=JUDGE) for text in fillers)
            writer = JUDGE if number < written else None
            return replace(given, facts=facts, judged_irrelevant=unwanted, annotator=writer)

        queries = tuple(query(number, given) for number, given in enumerate(evaluation.dataset.queries))
        changed = replace(evaluation, dataset=replace(evaluation.dataset, queries=queries), match_table=())
        return rescore(changed, **{"ks": (1, 3)} | options)

    return build


@pytest.fixture(scope="session")
def ranked() -> Callable[..., Evaluation]:
    """Build the evaluation of a system that finds the fact of query i at `ranks[i]`, None for not at all.

    An exception instead of a rank makes the query fail. With `reranked`, a reranker moves the facts there.
    """

    def build(
        ranks: Sequence[int | Exception | None],
        *,
        reranked: Sequence[int | None] | None = None,
        tags: Sequence[Sequence[str]] = (),
        unlabelled: Sequence[int] = (),
        top_n: int | None = None,
        depth: int = STONES,
        **options: Any,
    ) -> Evaluation:
        table = {
            stone_question(number): rank if isinstance(rank, Exception) else stone_results(number, rank)[:depth]
            for number, rank in enumerate(ranks)
        }
        reranker = None
        if reranked is not None or top_n is not None:
            scores = {stone_filler(place): 100.0 - place for place in range(1, STONES + 1)}
            scores |= {
                stone_answer(number): 100.5 - rank for number, rank in enumerate(reranked or ()) if rank is not None
            }
            reranker = FakeReranker(scores, top_n=top_n)
        settings = {"ks": (1, 3), "depth": "deep", "candidates": STONES, "metrics": ("rr", "recall")} | options
        return evaluate(
            FakeRetriever(table), stones(len(ranks), tags, unlabelled), reranker=reranker, retries=0, **settings
        )

    return build
