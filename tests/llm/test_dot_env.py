"""`.env` gives keys and settings on a list, and never says where a key of the environment is sent."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from raglift.errors import ConfigurationError
from raglift.llm.dot_env import KEYS, SETTINGS, load_dot_env

KEY = "sk-proj-9fQ2/x+Zt7=Lw-VerySecret-0042"
SERVER = "https://me:pw@elsewhere.example:8443/v1"
REFUSED = (
    *("HTTP_PROXY", "https_proxy", "ALL_PROXY", "NO_PROXY", "OPENAI_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "SSLKEYLOGFILE", "LANGCHAIN_TRACING_V2"),
    *("LANGCHAIN_ENDPOINT", "LANGSMITH_API_KEY", "LANGSMITH_RUNS_ENDPOINTS", "LANGFUSE_HOST", "OPENAI_API_BASE"),
    *("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS", "HF_ENDPOINT", "AZURE_OPENAI_ENDPOINT"),
    *("ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "VOYAGEAI_BASE_URL", "CO_API_URL", "WANDB_BASE_URL"),
    *("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_CA_BUNDLE", "MLFLOW_TRACKING_URI", "RAY_ADDRESS"),
    "RAGLIFT_MAX_BYTES",
)


@pytest.fixture
def environment(no_openai_settings: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Write `.env` and set the environment; what `.env` sets is forgotten afterwards."""

    def set_up(file: dict[str, str], **variables: str) -> None:
        (tmp_path / ".env").write_text("".join(f"{name}={value}\n" for name, value in file.items()), encoding="utf-8")
        for name in file:
            monkeypatch.setenv(name, "")
            monkeypatch.delenv(name)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return set_up


# What is taken, refused and ignored.


def test_keys_and_settings_are_taken(environment: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    file = {name: f"value of {name}" for name in KEYS | SETTINGS}
    environment(file)
    load_dot_env()
    assert {name: os.environ[name] for name in file} == file
    assert capsys.readouterr().err == ""


def test_servers_proxies_certificates_tracing_and_limits_are_refused_once_and_aloud(
    environment: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    environment(dict.fromkeys(REFUSED, "https://elsewhere.example") | {"MISTRAL_API_KEY": KEY})
    load_dot_env()
    load_dot_env()
    assert set(REFUSED) & set(os.environ) == set()
    assert os.environ["MISTRAL_API_KEY"] == KEY
    line = capsys.readouterr().err
    assert all(name in line for name in REFUSED)
    assert line.count("\n") == 1
    assert "elsewhere.example" not in line


def test_names_that_a_mapping_asks_for_are_taken_but_for_servers(environment: Callable[..., None]) -> None:
    environment({"MY_KEY": KEY, "HTTPS_PROXY": "https://elsewhere.example"})
    load_dot_env(also=["MY_KEY", "HTTPS_PROXY"])
    assert os.environ["MY_KEY"] == KEY
    assert "HTTPS_PROXY" not in os.environ


def test_no_value_of_the_environment_is_put_into_one_of_the_file(environment: Callable[..., None]) -> None:
    environment(
        {"OPENAI_BASE_URL": "https://elsewhere.example/${MISTRAL_API_KEY}", "OPENAI_API_KEY": "x"}, MISTRAL_API_KEY=KEY
    )
    with pytest.raises(ConfigurationError, match="in the value of OPENAI_BASE_URL") as caught:
        load_dot_env()
    assert KEY not in str(caught.value)
    assert "OPENAI_BASE_URL" not in os.environ


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"OPENAI_API_KEY=sk-hidden\nA_NAME=caf\xe9", "bytes that are no UTF-8"),
        (b"OPENAI_API_KEY=sk-hidden\x00", "as one with a NUL character"),
    ],
    ids=["latin", "nul"],
)
def test_a_file_that_cannot_be_used_is_an_error_without_its_values(
    environment: Callable[..., None], tmp_path: Path, content: bytes, found: str
) -> None:
    environment({"OPENAI_API_KEY": KEY})
    (tmp_path / ".env").write_bytes(content)
    with pytest.raises(
        ConfigurationError, match=rf"\.env: found .*{found}.*; expected lines as OPENAI_API_KEY="
    ) as caught:
        load_dot_env()
    assert "sk-hidden" not in str(caught.value)


def test_a_file_that_may_not_be_read_is_an_error(
    environment: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment({"OPENAI_API_KEY": KEY})
    stat = Path.stat

    def closed(self: Path, **options: Any) -> os.stat_result:  # to root, everything is open
        if self.name == ".env":
            raise PermissionError(13, "Permission denied")
        return stat(self, **options)

    monkeypatch.setattr(Path, "stat", closed)
    with pytest.raises(ConfigurationError, match=r"found what cannot be read or set \(Permission denied\)"):
        load_dot_env()


def test_without_the_package_that_reads_it_nothing_is_taken(
    environment: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment({"MISTRAL_API_KEY": KEY})
    monkeypatch.setitem(sys.modules, "dotenv", None)
    load_dot_env()
    assert "MISTRAL_API_KEY" not in os.environ


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_is_not_waited_for(no_openai_settings: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / ".env")
    load_dot_env()
    assert "is no regular file" in capsys.readouterr().err


IGNORED = ("DATABASE_PASSWORD", "PYTHONPATH", "LD_PRELOAD", "AWS_CONFIG_FILE", "MY_KEY")


def test_other_names_are_ignored(environment: Callable[..., None]) -> None:
    environment(dict.fromkeys(IGNORED, "x"))
    load_dot_env()
    assert {name for name in IGNORED if os.environ.get(name) == "x"} == set()


# The server that keys are sent to.


MIXTURES = {
    "server from .env": ({"OPENAI_BASE_URL": SERVER}, {"OPENAI_API_KEY": KEY}),
    "key from .env": ({"OPENAI_API_KEY": KEY}, {"OPENAI_BASE_URL": SERVER}),
}


@pytest.mark.parametrize("name", MIXTURES)
def test_a_key_is_sent_to_no_server_of_another_place(environment: Callable[..., None], name: str) -> None:
    file, variables = MIXTURES[name]
    environment(file, **variables)
    with pytest.raises(
        ConfigurationError, match=r"would be sent to elsewhere\.example:8443/v1; expected both from one "
    ) as caught:
        load_dot_env()
    assert KEY not in str(caught.value)
    assert "me:pw" not in str(caught.value)
    assert set(file) & set(os.environ) == set()


def test_a_key_is_sent_to_no_server_whose_address_cannot_be_read(environment: Callable[..., None]) -> None:
    environment({"OPENAI_BASE_URL": "https://[me:pw@elsewhere"}, OPENAI_API_KEY=KEY)
    with pytest.raises(ConfigurationError, match="would be sent to an address that cannot be read; expected"):
        load_dot_env()


@pytest.mark.parametrize(
    ("file", "variables"),
    [
        pytest.param({"OPENAI_BASE_URL": SERVER, "OPENAI_API_KEY": KEY}, {}, id="both in .env"),
        pytest.param(
            {"WANDB_MODE": "x"}, {"OPENAI_BASE_URL": SERVER, "OPENAI_API_KEY": KEY}, id="both in the environment"
        ),
        pytest.param({"OPENAI_BASE_URL": SERVER}, {}, id="no key"),
        pytest.param({"OPENAI_BASE_URL": "http://localhost:11434/v1"}, {"OPENAI_API_KEY": KEY}, id="on this machine"),
        pytest.param({"OPENAI_BASE_URL": SERVER}, {"ANTHROPIC_API_KEY": KEY}, id="key of another provider"),
    ],
)
def test_what_is_from_one_place_is_set(
    environment: Callable[..., None], file: dict[str, str], variables: dict[str, str]
) -> None:
    environment(file, **variables)
    load_dot_env()
    assert {name: os.environ[name] for name in file} == file


# On the wire.
