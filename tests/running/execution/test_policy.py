"""Which errors are worth another try, how long to wait for it, and how an error is told without its secrets."""

import urllib.error
from types import SimpleNamespace

import httpx
import pytest

from raglift.adapters.policy import Policy
from raglift.errors import ConfigurationError
from raglift.utilities.display import describe_error
from raglift.utilities.retrying import is_transient


class HTTPError(Exception):
    """As the clients of model providers raise it."""

    def __init__(self, **attributes):
        super().__init__("the server said no")
        self.__dict__.update(attributes)


def caused_by(error, cause):
    error.__cause__ = cause
    return error


TRANSIENT = [
    ConnectionError("reset"),
    TimeoutError(),
    httpx.ConnectError("refused"),
    httpx.ReadTimeout("slow"),
    HTTPError(status_code=429),
    HTTPError(status_code=529),
    HTTPError(response=SimpleNamespace(status_code=503)),
    HTTPError(status=502),
    urllib.error.HTTPError("http://x", 503, "busy", {}, None),
    caused_by(RuntimeError("the client gave up"), ConnectionResetError()),
    caused_by(RuntimeError("the client gave up"), httpx.ConnectError("refused")),
]
LASTING = [
    ValueError("no"),
    KeyError("k"),
    FileNotFoundError("index.faiss"),
    PermissionError("index.faiss"),
    HTTPError(status_code=404),
    HTTPError(status_code=401),
    HTTPError(response=SimpleNamespace(status_code=400)),
    urllib.error.HTTPError("http://x", 404, "not found", {}, None),
    HTTPError(code="invalid_api_key"),
    HTTPError(status_code=True),
    HTTPError(response=None),
    caused_by(HTTPError(status_code=404), ConnectionError()),
    caused_by(ConfigurationError("the wrong folder"), OSError()),
    type("InvalidURL", (OSError, ValueError), {})("no scheme"),  # as requests has it
]


@pytest.mark.parametrize("error", TRANSIENT, ids=repr)
def test_what_may_pass_is_transient(error):
    assert is_transient(error)


@pytest.mark.parametrize("error", LASTING, ids=repr)
def test_what_will_not_pass_is_not_transient(error):
    assert not is_transient(error)


def wait_after(error, attempt=1):
    outcome = SimpleNamespace(exception=lambda: error)
    return Policy().retry_policy.seconds_before_next(SimpleNamespace(outcome=outcome, attempt_number=attempt))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [(httpx.Headers({"Retry-After": "7"}), 7.0), ({"Retry-After": "-1"}, 0.0), ({"Retry-After": "86400"}, 30.0)],
)
def test_retry_after_is_honoured(headers, seconds):
    assert wait_after(HTTPError(response=SimpleNamespace(headers=headers))) == seconds


@pytest.mark.parametrize(
    "headers",
    [None, {"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}, {"Retry-After": "nan"}],
)
def test_without_a_usable_retry_after_the_wait_grows(headers):
    error = HTTPError(response=SimpleNamespace(headers=headers))
    assert 0.5 <= wait_after(error) <= 1
    assert 4 <= wait_after(error, attempt=4) <= 4.5
    assert 30 <= wait_after(error, attempt=20) <= 30.5


@pytest.mark.parametrize(
    "arguments",
    [{"concurrency": 0}, {"retries": -1}, {"timeout": 0}, {"timeout": float("nan")}, {"on_error": "ignore"}],
    ids=repr,
)
def test_a_policy_out_of_range_is_refused_by_name(arguments):
    (name,) = arguments
    with pytest.raises(ConfigurationError, match=f"^{name}: found .*; expected"):
        Policy(**arguments)


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "DB_PASSWORD"])
def test_values_of_secret_variables_are_hidden(monkeypatch, name):
    monkeypatch.setenv(name, "correct horse battery")
    error = RuntimeError("rejected: correct horse battery (see docs)")
    assert describe_error(error) == "RuntimeError: rejected: *** (see docs)"


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("Incorrect API key provided: sk-proj-AbC123_xyz789.", "Incorrect API key provided: ***."),
        ("key hf_AbCdEfGhIjKlMnOp rejected", "key *** rejected"),
        ("sent Authorization: Bearer abc.def.ghi", "sent Authorization: ***"),
        ("postgresql://ann:hunter2@db:5432/rag refused", "postgresql://***@db:5432/rag refused"),
        ("GET https://api.x.com/v1?q=a&api_key=AIzaSy123 failed", "GET https://api.x.com/v1?q=a&*** failed"),
        ("the task-force met", "the task-force met"),
    ],
)
def test_what_looks_like_a_secret_is_hidden(message, told):
    assert describe_error(ValueError(message)) == f"ValueError: {told}"


def test_of_an_error_without_a_text_the_function_that_raised_it_is_named():
    class Store:
        def score(self):
            raise NotImplementedError

    with pytest.raises(NotImplementedError) as found:
        Store().score()
    assert describe_error(found.value).startswith("NotImplementedError in test_of_an_error_without")
    assert describe_error(found.value).endswith(".Store.score()")


def test_an_error_is_one_short_line():
    assert describe_error(ValueError("first\n  second\tthird")) == "ValueError: first second third"
    assert describe_error(ValueError()) == "ValueError"
    long = describe_error(ValueError("x" * 5000))
    assert len(long) < 320
    assert long.endswith("…")


def test_an_error_cannot_take_over_the_terminal_or_a_file():
    told = describe_error(ValueError("\x1b[31mred\x07 \ud800"))
    assert told == "ValueError: �[31mred� �"
    told.encode("utf-8")
