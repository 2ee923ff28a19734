from __future__ import annotations

import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from raglift.datasets.corpora import fetching as download
from raglift.datasets.corpora.catalogue import Corpus
from raglift.datasets.corpora.fetching import fetch
from raglift.datasets.loading import load_dataset
from raglift.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.slow

TEXT = b"The tide comes\r\nin. The tide goes out.\r\nAnd the moon looks on.\r\n"
UNTRUE = b"The tide comes in. The tide stays.\n"


@dataclass
class Site:
    """A web server on this machine, and what it was asked for."""

    address: str
    asked: list[str] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def url(self, path: str) -> str:
        return f"{self.address}/{path}"


class Handler(BaseHTTPRequestHandler):
    site: Site

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass

    def do_GET(self) -> None:
        self.site.asked.append(self.path)
        getattr(self, "get_" + self.path[1:])()

    def send(self, body: bytes, *, status: int = 200, length: int | None = -1, **headers: str) -> None:
        self.send_response(status)
        if length is not None:
            self.send_header("Content-Length", str(len(body) if length < 0 else length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def get_ok(self) -> None:
        self.send(TEXT)

    def get_without_length(self) -> None:
        self.send(TEXT, length=None)

    def get_missing(self) -> None:
        self.send(b"no", status=404)

    def get_silent(self) -> None:
        self.site.closing.wait(5)

    def get_slow(self) -> None:
        self.send_response(200)
        self.end_headers()
        while not self.site.closing.wait(0.05):
            self.wfile.write(b"a")

    def get_large(self) -> None:
        self.send(b"x" * 1001)

    def get_truncated(self) -> None:
        self.send(TEXT, length=len(TEXT) + 9)

    def get_page(self) -> None:
        self.send(b"Please prove that you are human.", Content_Type="text/html; charset=utf-8")

    def get_untrue(self) -> None:
        self.send(UNTRUE)

    def get_in_part(self) -> None:
        self.send(TEXT.replace(b"moon", b"mooon").replace(b"on.", b"in."))

    def get_moved(self) -> None:
        self.send(b"", status=302, Location="/ok")

    def get_astray(self) -> None:
        self.send(b"", status=302, Location="http://example.org/x.txt")


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(download, "_FIRST_WAIT_SECONDS", 0.01)
    handler = type("SiteHandler", (Handler,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    handler.site = Site(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield handler.site
    handler.site.closing.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("path", ["without_length", "moved"])
def test_a_text_is_put_in_the_cache_folder(
    site: Site, make_corpus: Callable[..., Corpus], cache: Path, path: str
) -> None:
    corpus = make_corpus()
    fetched = fetch(corpus, url=site.url(path))
    assert fetched == cache / "corpora" / "tides" / "tides.txt" == corpus.path
    assert fetched.read_bytes() == TEXT
    assert list(fetched.parent.iterdir()) == [fetched]
    assert corpus.documents()[0].text == TEXT.decode().replace("\r\n", "\n")


def test_a_text_is_kept_in_which_most_labels_resolve(site: Site, make_corpus: Callable[..., Corpus]) -> None:
    corpus = make_corpus()
    fetch(corpus, url=site.url("in_part"))
    dataset = load_dataset(corpus.folder, documents=corpus.path)
    assert [query.id for query in dataset] == ["q0", "q2"]
    assert [label.query_id for label in dataset.resolution.left_out] == ["q1"]


FAILURES = {
    "missing": "HTTP 404 Not Found",
    "large": "too large: over 1000 bytes",
    "truncated": "the download failed: .*",
    "page": "an HTML page, expected a plain text",
    "astray": "redirected to http://example.org/x.txt, which is not https://",
    "untrue": r"(?s)2 of them do not resolve, the first:.*queries.jsonl:2: relevant\[0\].from: .*queries.jsonl:3: ",
}


@pytest.mark.parametrize("path", FAILURES)
def test_a_failed_download_leaves_nothing(
    site: Site, make_corpus: Callable[..., Corpus], cache: Path, path: str
) -> None:
    with pytest.raises(CorpusError, match=f"corpus 'tides' could not be fetched:\n  {site.url(path)}: ") as caught:
        fetch(make_corpus(), url=site.url(path))
    assert caught.match(FAILURES[path])
    assert not cache.exists()


@pytest.mark.parametrize(("path", "message"), [("silent", "no answer in time"), ("slow", "not finished in time")])
def test_time_runs_out(
    site: Site,
    make_corpus: Callable[..., Corpus],
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    message: str,
) -> None:
    monkeypatch.setattr(download, "_SECONDS", 0.3)
    with pytest.raises(CorpusError, match=message):
        fetch(make_corpus(), url=site.url(path))
    assert not cache.exists()


def test_what_fails_in_passing_is_tried_again(site: Site, make_corpus: Callable[..., Corpus]) -> None:
    with pytest.raises(CorpusError):
        fetch(make_corpus(), url=site.url("truncated"))
    assert site.asked == ["/truncated"] * 3
    with pytest.raises(CorpusError):
        fetch("war_and_peace", url=site.url("missing"))
    assert site.asked[3:] == ["/missing"]


def test_the_addresses_are_tried_in_turn(site: Site, make_corpus: Callable[..., Corpus]) -> None:
    corpus = make_corpus(*(site.url(path) for path in ("missing", "page", "untrue", "ok", "moved")))
    assert fetch(corpus).read_bytes() == TEXT
    assert site.asked == ["/missing", "/page", "/untrue", "/ok"]


@pytest.mark.parametrize(
    ("error", "seen"),
    [(KeyboardInterrupt(), KeyboardInterrupt), (OSError("disk full"), CorpusError)],
    ids=["stop", "disk"],
)
def test_an_interrupted_write_leaves_nothing(
    site: Site,
    make_corpus: Callable[..., Corpus],
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    seen: type[BaseException],
) -> None:
    def fail(path: Path, target: Path) -> None:
        raise error

    monkeypatch.setattr(Path, "replace", fail)
    corpus = make_corpus()
    with pytest.raises(seen) as caught:
        fetch(corpus, url=site.url("ok"))
    assert seen is KeyboardInterrupt or caught.match("disk full.*RAGLIFT_CACHE")
    assert list((cache / "corpora" / "tides").iterdir()) == []


def test_other_addresses_are_not_asked(make_corpus: Callable[..., Corpus]) -> None:
    with pytest.raises(CorpusError, match="only https://"):
        fetch(make_corpus(), url="http://example.org/x.txt")
