"""What is a secret, and what is left of it where a text is cut off."""

from __future__ import annotations

import pytest

from raglift.utilities.display import Secrets
from raglift.utilities.secrets import is_distinctive, login_in


@pytest.mark.parametrize(
    ("address", "login"),
    [
        ("https://ana:s3cret@127.0.0.1/search", ("ana", "s3cret")),
        ("https://127.0.0.1/search", ("", "")),
        ("https://[ana:s3cret@127.0.0.1", ("", "")),  # no address
    ],
)
def test_the_login_of_an_address(address: str, login: tuple[str, str]) -> None:
    assert login_in(address) == login


@pytest.mark.parametrize(
    ("value", "is_secret"),
    [
        ("sk-4f9a8e7d6c5b", True),
        ("two words 9f8e7d6c", False),
        ("lighthouses", False),
        (__file__, False),  # a place that is there
        ("/4f9a8e7d/6c5b+4a3b", True),
        ("https://ana:s3cret-9f8e@127.0.0.1", True),
        ("https://127.0.0.1/search?q=1", False),
    ],
)
def test_a_secret_that_may_be_taken_out_of_documents_is_nothing_that_they_hold(value: str, is_secret: bool) -> None:
    assert is_distinctive(value) is is_secret


@pytest.mark.parametrize("inside", [1, 8, 14])
def test_the_part_of_a_secret_before_the_end_of_what_is_looked_at_is_not_shown(inside: int) -> None:
    key = "sk-4f9a8e7d6c5b"
    body = "no key".ljust(20_000 - inside) + key + " " * 100
    assert Secrets([key]).beginning(body.encode()) == "no key"
    assert Secrets([key]).beginning(f"no {key} here".encode()) == "no *** here"
