from __future__ import annotations

import pytest

from raglift.datasets.corpora.descriptor import is_allowed


@pytest.mark.parametrize(
    "url", ["https://example.org/x.txt", "http://127.0.0.1:80/x", "http://localhost/x", "http://[::1]:8000/x"]
)
def test_allowed(url: str) -> None:
    assert is_allowed(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/x.txt",
        "http://127.0.0.1.example.org/x",
        "http://127.0.0.1@example.org/x",
        "file:///etc/passwd",
        "ftp://localhost/x",
        "https:///x",
        "https://[::1",
        "x.txt",
        "",
    ],
)
def test_not_allowed(url: str) -> None:
    assert not is_allowed(url)


def test_only_this_machine_redirects_to_this_machine() -> None:
    assert is_allowed("http://localhost/b", came_from="http://127.0.0.1/a")
    assert is_allowed("https://example.org/b", came_from="https://example.org/a")
    assert not is_allowed("http://localhost/b", came_from="https://example.org/a")
