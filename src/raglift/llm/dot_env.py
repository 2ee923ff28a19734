"""Keys and settings from `.env`: names on a list, and none that says where a key is sent or whom to trust."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from raglift.errors import ConfigurationError
from raglift.utilities.display import printable
from raglift.utilities.limits import is_file, is_there, resolved
from raglift.utilities.progress import notice
from raglift.utilities.secrets import is_secret_name

KEYS = frozenset(
    {
        *("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_ORGANIZATION", "OPENAI_PROJECT_ID"),
        *("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN", "OPENAI_API_VERSION"),
        *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"),
        *("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_CLOUD_PROJECT"),
        *("HF_TOKEN", "HUGGINGFACEHUB_API_TOKEN", "CO_API_KEY", "PPLX_API_KEY"),
        *("WATSONX_API_KEY", "WATSONX_APIKEY", "WATSONX_PROJECT_ID"),
        *(
            f"{provider}_API_KEY"
            for provider in (
                *("ANTHROPIC", "BASETEN", "COHERE", "DEEPSEEK", "FIREWORKS", "GROQ", "JINA", "MISTRAL", "NVIDIA"),
                *("OLLAMA", "OPENROUTER", "PERPLEXITY", "TOGETHER", "UPSTAGE", "VOYAGE", "XAI"),
            )
        ),
        *("MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN", "WANDB_API_KEY"),
    }
)
"""Keys of the providers that LangChain and raglift know by name and of the trackers, and the ids that go with them."""
SETTINGS = frozenset(
    {
        *("RAGLIFT_CACHE", "RAGLIFT_CORPORA", "RAGLIFT_PROGRESS"),
        *("MLFLOW_EXPERIMENT_NAME", "MLFLOW_EXPERIMENT_ID", "WANDB_PROJECT", "WANDB_ENTITY", "WANDB_MODE"),
    }
)
"""Settings of raglift and of the trackers that name no server and lift no limit."""
_SERVER = "OPENAI_BASE_URL"
_REFUSED = re.compile(
    r"(?:.*_)?PROXY|.*(?:SSL|CERT|CA_BUNDLE|CACERT).*|.*_ENDPOINTS?(?:_.*)?|.*_(?:BASE|API)_(?:URL|BASE|HOST)|.*_API_BASE|"
    r"(?:LANGCHAIN|LANGSMITH|LANGFUSE|OTEL)_.*|MLFLOW_TRACKING_URI|RAY_ADDRESS|RAGLIFT_MAX_BYTES",
    re.IGNORECASE,
)
"""Names of proxies, certificates, servers, tracing and limits."""
_FILE = Path(".env")


def load_dot_env(also: Collection[str] = ()) -> None:
    """Take the names on the list from `.env` of the working directory, if python-dotenv is installed.

    The environment wins. A folder that somebody else wrote may have a `.env` too, so it may not say where keys and
    texts are sent: names of proxies, certificates, servers and tracing are refused with a line on standard error, and
    names that are not on the list are ignored. `OPENAI_BASE_URL` is taken. If it is from `.env` and a key to it is from
    the environment, or the other way round, it is an error; except for servers on this machine.

    Args:
        also: names that the mapping of a service asks for; those of servers and the like are refused too.

    Raises:
        ConfigurationError: the file cannot be read, or holds what no environment can, or a key would be sent to a
            server that is not from the same place; no value of a key is in the message.
    """
    try:
        from dotenv import dotenv_values
    except ImportError:
        return
    try:
        if not is_file(_FILE):
            if is_there(_FILE):
                _say(f"raglift: {resolved(_FILE)} is not read: it is no regular file")
            return
        # Not interpolated: `${NAME}` would put a secret of the environment into an address
        found = {name: value for name, value in dotenv_values(_FILE, interpolate=False).items() if value}
        new = {name: value for name, value in found.items() if name not in os.environ}
        refused = sorted(filter(_REFUSED.fullmatch, new.keys() - {_SERVER}))
        added = {name: new[name] for name in (KEYS | SETTINGS | {_SERVER, *also}) & new.keys() - set(refused)}
        referring = sorted(name for name, value in added.items() if "${" in value)
        if refused:
            _say(
                f"raglift: {resolved(_FILE)}: {', '.join(refused)} not taken from there: such variables say where keys "
                "and texts are sent, whom to trust, or how much is read, and a folder that somebody else wrote may "
                "have a .env; if you want them, export them in the shell"
            )
        if referring:
            raise _unusable(f"${{…}} in the value of {referring[0]}, which is not replaced there")
        _check_server(added)
        os.environ.update(added)
    except UnicodeDecodeError:
        raise _unusable("bytes that are no UTF-8") from None
    except OSError as error:
        raise _unusable(f"what cannot be read or set ({error.strerror or type(error).__name__})") from None
    except ValueError:  # os.environ's, of a NUL
        raise _unusable("a name or a value that no environment can hold, as one with a NUL character") from None


def address_of(url: str) -> str:
    """Return host, port and path of an address, without what may be secret in it."""
    address = urlsplit(url)
    return address.netloc.rpartition("@")[2] + address.path.rstrip("/")


@cache
def _say(text: str) -> None:
    """Say something once."""
    notice(printable(text), show=True)


def _check_server(added: Mapping[str, str]) -> None:
    """Raise if a server and a key to it are from two places, `.env` and the environment."""
    known = {**os.environ, **added}
    url = known.get(_SERVER, "").strip()
    if not url or _is_here(url):
        return
    for key, value in known.items():
        is_sent = key.startswith(("OPENAI_", "AZURE_OPENAI_")) and is_secret_name(key) and value.strip()
        if is_sent and (_SERVER in added) != (key in added):
            in_file, elsewhere = (_SERVER, key) if _SERVER in added else (key, _SERVER)
            raise ConfigurationError(
                f"{resolved(_FILE)}: found {in_file} there and {elsewhere} in the environment, so that {key} would be "
                f"sent to {_shown(url)}; expected both from one place: set {_SERVER} and {key} together"
            )


def _is_here(url: str) -> bool:
    """Whether a server is on this machine; what is no address is sent nothing."""
    from raglift.retrieval.services.addresses import is_loopback

    try:
        return "://" not in url or is_loopback(url)
    except ValueError:
        return False


def _shown(url: str) -> str:
    try:
        return printable(" ".join(address_of(url).split()))
    except ValueError:
        return "an address that cannot be read"


def _unusable(found: str) -> ConfigurationError:
    return ConfigurationError(
        f"{resolved(_FILE)}: found {found}; expected lines as OPENAI_API_KEY=… in UTF-8: mend the file, or "
        "remove it and set the variables in the environment"
    )
