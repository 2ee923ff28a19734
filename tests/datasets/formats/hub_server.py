"""A server on this machine that answers as the Hugging Face hub does: the files of datasets and models."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

COMMIT = "a" * 40
GATED = "shy/gated"


@contextmanager
def hub(datasets: dict[str, Path], asked: list[str]) -> Iterator[str]:  # noqa: C901 — one handler with all answers
    """Serve folders by their ids; the paths that are asked for are noted."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def _send(self, data: bytes, status: int = 200, kind: str = "application/json", **headers: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def _refuse(self, code: str, status: int = 404) -> None:
            self._send(b'{"error": "no"}', status, X_Error_Code=code, X_Error_Message="no")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            paths = json.loads(body)["paths"] if body.startswith("{") else parse_qs(body)["paths"]
            self._answer(paths)

        def do_GET(self) -> None:
            self._answer([])

        do_HEAD = do_GET  # noqa: N815

        def _answer(self, paths: list[str]) -> None:
            path = unquote(urlsplit(self.path).path)
            asked.append(path)
            name = next((each for each in datasets if f"/{each}" in path), None)
            if f"/{GATED}" in path:
                return self._refuse("GatedRepo", 403)
            if name is None:
                return self._refuse("RepoNotFound")
            folder = datasets[name]
            files = sorted(each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file())
            rest = path.partition(f"/{name}")[2].strip("/")
            kind, _, rest = rest.partition("/")
            revision, _, file = rest.partition("/")
            if kind in ("", "revision"):
                if revision not in ("", "main", COMMIT):
                    return self._refuse("RevisionNotFound")
                return self._send(json.dumps(info(name, files)).encode())
            if kind == "tree":
                listed = below(folder, files, file)
                return self._send(json.dumps(listed).encode()) if listed else self._refuse("EntryNotFound")
            if kind == "paths-info":
                return self._send(json.dumps([entry(folder, each) for each in paths if each in files]).encode())
            if kind == "resolve" and file in files:
                data = (folder / file).read_bytes()
                tag = f'"{hashlib.sha1(data).hexdigest()}"'  # noqa: S324
                return self._send(data, 200, "application/octet-stream", ETag=tag, X_Repo_Commit=COMMIT)
            return self._refuse("EntryNotFound")

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def entry(folder: Path, file: str) -> dict[str, object]:
    """What the hub says of a file."""
    data = (folder / file).read_bytes()
    return {"type": "file", "path": file, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}  # noqa: S324


def info(name: str, files: list[str]) -> dict[str, object]:
    """What the hub says of a dataset."""
    siblings = [{"rfilename": each} for each in files]
    return {"id": name, "sha": COMMIT, "siblings": siblings, "private": False, "tags": [], "downloads": 0}


def below(folder: Path, files: list[str], top: str) -> list[dict[str, object]]:
    """What the hub lists of the files and folders below one of them."""
    found = [each for each in files if not top or each == top or each.startswith(f"{top}/")]
    folders = {str(parent) for each in found for parent in Path(each).parents} - {".", top}
    return [entry(folder, each) for each in found] + [
        {"type": "directory", "path": each, "oid": "0" * 40, "size": 0} for each in sorted(folders)
    ]
