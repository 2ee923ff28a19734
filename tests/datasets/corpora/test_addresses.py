from __future__ import annotations

from raglift.datasets.corpora.catalogue import is_allowed


def test_downloads_go_over_https_or_to_this_machine() -> None:
    for url in ("https://example.org/x.txt", "http://127.0.0.1:80/x", "http://localhost/x", "http://[::1]:8000/x"):
        assert is_allowed(url)
    for url in (
        "http://example.org/x",
        "http://127.0.0.1@example.org/x",
        "file:///etc/passwd",
        "https:///x",
        "x.txt",
        "https://[x",
    ):
        assert not is_allowed(url)
    assert is_allowed("http://localhost/b", came_from="http://127.0.0.1/a")
    assert not is_allowed("http://localhost/b", came_from="https://example.org/a")
