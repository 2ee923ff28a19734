"""What must never be shown is found in a client, also while other threads use it."""

from pydantic import SecretStr

from raglift.llm.replies import secrets_of


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
