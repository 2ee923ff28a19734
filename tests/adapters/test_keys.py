"""What must never be shown is found in a client, also while other threads use it."""

import pytest
from pydantic import SecretStr

from raglift.errors import ConfigurationError
from raglift.llm.dot_env import load_dot_env
from raglift.llm.providers import secrets_of


class Client:
    """A client that makes what it keeps on first use, as OpenAI's does: looking at its parts adds an attribute."""

    def __init__(self) -> None:
        self.part = self.Part(self)
        self.api_key = SecretStr("sk-hidden-in-pydantic")
        self.default_headers = {"x-team": "plain words that are a secret", "x-id": "short"}
        self.organization = "public"

    class Part:
        def __init__(self, client: "Client") -> None:
            self._client = client

        def __getattr__(self, name: str) -> object:
            self._client.made_on_first_use = object()
            raise AttributeError(name)


def test_keys_and_headers_are_secrets_and_short_or_public_words_are_not():
    assert secrets_of(Client()) == ["sk-hidden-in-pydantic", "plain words that are a secret"]


def test_a_client_that_gains_an_attribute_while_it_is_looked_at_gives_its_secrets():
    client = Client()
    found = secrets_of(client)
    assert hasattr(client, "made_on_first_use")
    assert "sk-hidden-in-pydantic" in found


def test_what_holds_no_attributes_holds_no_secrets():
    assert secrets_of(object()) == []


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"OPENAI_API_KEY=sk-hidden\nA_NAME=caf\xe9", "bytes that are no UTF-8"),
        (b"OPENAI_API_KEY=sk-hidden\x00", "as one with a NUL character"),
        (b"A_NAME=x\n'A=B'=sk-hidden", "a name or a value that no environment can hold"),
    ],
    ids=["latin", "nul", "name"],
)
def test_a_file_of_keys_that_cannot_be_used_is_told_without_its_values(tmp_path, monkeypatch, content, told):
    (tmp_path / ".env").write_bytes(content)
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "A_NAME"):
        monkeypatch.setenv(name, "")  # so that it is put back afterwards
        monkeypatch.delenv(name)
    with pytest.raises(
        ConfigurationError, match=rf"\.env: found .*{told}.*; expected lines as OPENAI_API_KEY="
    ) as caught:
        load_dot_env()
    assert "sk-hidden" not in str(caught.value)
