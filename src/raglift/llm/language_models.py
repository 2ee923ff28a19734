"""Language models behind one small interface: LangChain's chat models by name or as objects."""

from __future__ import annotations

import os
import re
from typing import Any, Protocol

from raglift.errors import ConfigurationError, MissingDependency, MissingKey
from raglift.llm.dot_env import load_dot_env
from raglift.llm.replies import FILTERED, FilledPrompt, Form, RawReply, Reply, Usage, ask_in_form, is_of, settings_of
from raglift.utilities.display import describe_error, encodable
from raglift.utilities.retrying import BadReply, RetryPolicy

_NO_KEY = "none, for nothing is asked"
_KEY_MISSING = re.compile(r"api.?key|credential", re.IGNORECASE)
# The exceptions that clients raise on a malformed reply
_NOT_READ = (ValueError, TypeError, KeyError, AttributeError, IndexError)


class LangChainModel:
    """A LangChain chat model as a LanguageModel; the model is used as it is, and not changed."""

    def __init__(self, chat: Any, retry_policy: RetryPolicy, *, name: str | None = None) -> None:
        self._chat = chat
        self._retry_policy = retry_policy
        self._name = name or _name_of(chat)

    def __repr__(self) -> str:
        return f"LangChainModel({self.name})"

    @property
    def name(self) -> str:
        """Such as `openai:gpt-4o-mini`."""
        return self._name

    @property
    def identity(self) -> str:
        """The class, the model, the settings that decide an answer, and the server; never a secret."""
        return f"langchain {type(self._chat).__name__} {self.name} ({settings_of(self._chat)})"

    def ask(self, prompt: FilledPrompt, form: type[Form]) -> Reply[Form]:
        """Return the answer in a form, asking again when the provider has a bad moment.

        Raises:
            ConfigurationError: the model cannot answer in a form.
            ModelOutputError: no usable answer came.
        """
        structured = self._structured(form)
        messages = [("system", encodable(prompt.system)), ("user", encodable(prompt.user))]
        return ask_in_form(lambda: _asked(structured, messages), form, self._chat, self.name, self._retry_policy)

    def _structured(self, form: type[Form]) -> Any:
        """Return what answers in a form: where it can be had, the model without what reads its answer.

        The client's own reading would lose the usage of an answer that is damaged; and with `include_raw` it asks in a
        pool of threads, which Ctrl-C would wait for.
        """
        is_openai = is_of(self._chat, "langchain_openai", "ChatOpenAI")
        schema, settings = (
            (_strict_schema(form), {"method": "json_schema", "strict": True}) if is_openai else (form, {})
        )
        try:
            chain = self._chat.with_structured_output(schema, **settings)
        except (NotImplementedError, *_NOT_READ) as error:
            reason = describe_error(error)
        else:
            return chain.first if is_of(chain, "langchain_core", "RunnableSequence") else chain
        raise ConfigurationError(f"model: {self.name} cannot answer in a given form ({reason}); take another model")


def chat_model_by_name(name: str, *, temperature: float | None, timeout: float, to_estimate: bool = False) -> Any:
    """Return the LangChain chat model for `provider:model`, which does not itself ask again."""
    provider, colon, model = name.partition(":")
    if not (provider and colon and model.strip()):
        raise ConfigurationError(f"model: found {name!r}; expected provider:model, as openai:gpt-4o-mini")
    purpose = f"the language model {name}"
    try:
        from langchain.chat_models import init_chat_model
    except ImportError:
        raise MissingDependency("langchain", "openai", purpose) from None
    load_dot_env()
    variable = f"{provider.upper()}_API_KEY"
    has_no_key = provider == "openai" and not os.environ.get(variable, "").strip()
    if has_no_key and not to_estimate:
        raise MissingKey(variable, purpose)
    settings: dict[str, Any] = {"timeout": timeout, "max_retries": 0} | (
        {} if temperature is None else {"temperature": temperature}
    )
    if has_no_key:
        settings["api_key"] = _NO_KEY
    try:
        return init_chat_model(name, **settings)
    except ImportError as error:
        package = getattr(error.__cause__, "name", None) or error.name or f"langchain_{provider}"
        failure: ConfigurationError = MissingDependency(package, "openai" if provider == "openai" else None, purpose)
    except Exception as error:  # noqa: BLE001 — of the provider's package, or of pydantic
        reason = describe_error(error)
        failure = ConfigurationError(f"model: {name!r} cannot be used: {reason}")
        if _KEY_MISSING.search(reason):
            failure = MissingKey(variable, f"{purpose} ({reason})")
    # Not in the handler: a traceback would show the package's own error, which may repeat a secret
    raise failure


def _asked(structured: Any, messages: list[tuple[str, str]]) -> RawReply:
    """Ask once."""
    try:
        found = structured.invoke(messages)
    except Exception as error:
        if is_of(error, "openai", "LengthFinishReasonError"):
            return RawReply("", _openai_usage(error), finish_reason="length")
        if is_of(error, "openai", "ContentFilterFinishReasonError"):
            return RawReply("", refusal="the provider's content filter stopped the answer")
        if isinstance(error, _NOT_READ) and not hasattr(error, "status_code"):
            raise BadReply(f"the reply is not what was asked for ({describe_error(error)})") from None
        raise
    if not is_of(found, "langchain_core", "AIMessage"):  # it was read already
        return RawReply(found)
    usage = found.usage_metadata or {}
    tokens = Usage(usage.get("input_tokens", 0), usage.get("output_tokens", 0))
    content = found.tool_calls[0]["args"] if found.tool_calls else str(found.text)
    return RawReply(content, tokens, _refusal(found), _finish_reason(found))


def _finish_reason(message: Any) -> str | None:
    metadata = message.response_metadata
    reason = metadata.get("finish_reason") or metadata.get("stop_reason") or metadata.get("done_reason")
    return None if reason is None else str(reason)


def _refusal(message: Any) -> str | None:
    """Return why a model does not answer, in its own text where it has some."""
    refusal = message.additional_kwargs.get("refusal")
    if not refusal and isinstance(message.content, list):
        blocks = [block for block in message.content if isinstance(block, dict)]
        refusal = next((block["refusal"] for block in blocks if block.get("refusal")), None)
    if not refusal and _finish_reason(message) in FILTERED:
        refusal = str(message.text) or str(_finish_reason(message))
    return str(refusal) if refusal else None


def _openai_usage(error: Any) -> Usage:
    usage = getattr(getattr(error, "completion", None), "usage", None)
    return Usage(getattr(usage, "prompt_tokens", 0) or 0, getattr(usage, "completion_tokens", 0) or 0)


def _strict_schema(form: type[Form]) -> dict[str, Any]:
    """Return a form as OpenAI's strict mode takes it: every field required, no other ones, no defaults."""
    from langchain_core.utils.function_calling import convert_to_openai_function

    schema: dict[str, Any] = _without_defaults(convert_to_openai_function(form, strict=True))
    return schema


def _without_defaults(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: _without_defaults(value) for key, value in schema.items() if key != "default"}
    return [_without_defaults(item) for item in schema] if isinstance(schema, list) else schema


def _name_of(chat: Any) -> str:
    """Return `provider:model` as LangChain's own tracing calls it."""
    params = chat._get_ls_params() if hasattr(chat, "_get_ls_params") else {}  # noqa: SLF001 — there is no other way
    provider = params.get("ls_provider") or type(chat).__name__
    model = params.get("ls_model_name") or getattr(chat, "model_name", None) or getattr(chat, "model", None)
    return f"{provider}:{model or type(chat).__name__}"


# Any language model.


DEFAULT_MODEL = "openai:gpt-4o-mini"
"""The model that is asked when none is named."""


class LanguageModel(Protocol):
    """What raglift asks of a language model."""

    @property
    def name(self) -> str:
        """Such as `openai:gpt-4o-mini`: the annotator's name."""

    @property
    def identity(self) -> str:
        """Everything that decides an answer besides the prompt: model, settings, server; never a secret."""

    def ask(self, prompt: FilledPrompt, form: type[Form]) -> Reply[Form]:
        """Return the answer in a form, asking again when the provider has a bad moment.

        Raises:
            ModelOutputError: no usable answer came: refused, malformed three times, out of retry_policy.
            ModelUnavailable: nor would one come to any other prompt: a wrong key, no connection, no quota left.
        """


def language_model(
    model: Any = DEFAULT_MODEL,
    *,
    temperature: float | None = 0.0,
    timeout: float = 60.0,
    retry_policy: RetryPolicy | None = None,
    to_estimate: bool = False,
) -> LanguageModel:
    """Return a language model ready to be asked.

    Args:
        model: `provider:model` for LangChain's `init_chat_model`; a LangChain chat model, which is used as it is and
            never changed; or a `LanguageModel`, which is returned.
        temperature: for models by name; None leaves it to the provider.
        timeout: the most seconds for one request, for models by name.
        retry_policy: how often a request is made again, and how long is waited before.
        to_estimate: the model is only to be priced, and not asked: then an OpenAI model by name needs no key.

    Raises:
        ConfigurationError: the model cannot be used.
        MissingKey: the provider's API key is not set.
        MissingDependency: the provider's package is not installed.
    """
    retry_policy = retry_policy or RetryPolicy()
    if isinstance(model, str):
        chat = chat_model_by_name(model, temperature=temperature, timeout=timeout, to_estimate=to_estimate)
        return LangChainModel(chat, retry_policy, name=model)
    if is_of(model, "langchain_core", "BaseChatModel"):
        return LangChainModel(model, retry_policy)
    if all(hasattr(model, name) for name in ("name", "identity", "ask")):
        given: LanguageModel = model
        return given
    raise ConfigurationError(
        f"model: found {type(model).__module__}.{type(model).__qualname__}; expected provider:model as text, "
        "a chat model of LangChain, or a LanguageModel"
    )
