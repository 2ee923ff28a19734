"""Language models behind one small interface: LangChain's chat models by name or as objects."""

from __future__ import annotations

from typing import Any, Protocol

from raglift.errors import ConfigurationError
from raglift.llm.langchain_chat import LangChainModel, chat_model_by_name
from raglift.llm.replies import FilledPrompt, Form, Reply, is_of
from raglift.utilities.retrying import RetryPolicy

DEFAULT_MODEL = "openai:gpt-4o-mini"
"""The model that is asked when none is named."""


class LanguageModel(Protocol):
    """What raglift asks of a language model."""

    @property
    def name(self) -> str:
        """Such as `openai:gpt-4o-mini`: the annotator's name."""
        ...

    @property
    def identity(self) -> str:
        """Everything that decides an answer besides the prompt: model, settings, server; never a secret."""
        ...

    def ask(self, prompt: FilledPrompt, form: type[Form]) -> Reply[Form]:
        """Return the answer in a form, asking again when the provider has a bad moment.

        Raises:
            ModelOutputError: no usable answer came: refused, malformed three times, out of retry_policy.
            ModelUnavailable: nor would one come to any other prompt: a wrong key, no connection, no quota left.
        """
        ...


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
