"""Language models behind one small interface: LangChain's chat models by name or as objects, LlamaIndex's LLMs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel

    from raglift.integrations._patience import Patience

__all__ = ["DEFAULT_MODEL", "FilledPrompt", "LanguageModel", "Reply", "Usage", "language_model"]

DEFAULT_MODEL = "openai:gpt-4o-mini"
"""The model that is asked when none is named."""

Form = TypeVar("Form", bound="BaseModel")


@dataclass(frozen=True)
class FilledPrompt:
    """What a model is told once: its task, and the data that it is about."""

    version: str
    """Name and hash of the template, as `relevance@3f9a1c07`."""
    system: str
    """The task, in raglift's words or the user's."""
    user: str
    """The data, delimited."""


@dataclass(frozen=True)
class Usage:
    """Tokens that were, or would be, billed."""

    input: int = 0
    output: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.input + other.input, self.output + other.output)


@dataclass(frozen=True)
class Reply(Generic[Form]):
    """A model's answer in the form that was asked for."""

    value: Form
    usage: Usage
    """As the provider said; zeros where it did not say."""


class LanguageModel(Protocol):
    """What raglift asks of a language model."""

    @property
    def name(self) -> str:
        """As `openai:gpt-4o-mini`: the annotator's name, and the key of price lists."""
        ...

    @property
    def identity(self) -> str:
        """Everything that decides an answer besides the prompt: model, settings, server; never a secret."""
        ...

    def ask(self, prompt: FilledPrompt, form: type[Form]) -> Reply[Form]:
        """Return the answer in a form, asking again when the provider has a bad moment.

        Raises:
            ModelOutputError: no usable answer came: refused, malformed three times, out of patience, no key.
        """
        ...

    def stream(self, prompt: FilledPrompt) -> Iterator[str]:
        """Yield a free text piece by piece.

        Raises:
            ModelOutputError: the stream failed or broke off; what was yielded before stays good.
        """
        ...


def language_model(
    model: Any = DEFAULT_MODEL,
    *,
    temperature: float | None = 0.0,
    timeout: float = 60.0,
    patience: Patience | None = None,
) -> LanguageModel:
    """Return a language model ready to be asked.

    Args:
        model: `provider:model` for LangChain's `init_chat_model`; a LangChain chat model or a LlamaIndex LLM, which is
            used as it is and never changed; or a `LanguageModel`, which is returned.
        temperature: for models by name; None leaves it to the provider.
        timeout: the most seconds for one request, for models by name.
        patience: how long a request is made again.

    Raises:
        ConfigurationError: the model cannot be used, or its key is missing.
        MissingDependency: the provider's package is not installed.
    """
    raise NotImplementedError
