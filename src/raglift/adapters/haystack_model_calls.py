"""Listens to the generators and embedders that Haystack's pipelines run.

Haystack's tracer tells of the components of a pipeline. Of a generator inside another component, as in a
`QueryExpander`, it does not tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from raglift.adapters.model_calls import ModelCall, current_tally
from raglift.llm.replies import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_PROVIDERS = ("OpenAI", "AzureOpenAI", "Cohere", "Mistral", "Jina", "Voyage", "GoogleGenAI", "AmazonBedrock", "Nvidia")
"""How the names of embedders begin that ask a provider; others run on this machine."""
_TYPE = "haystack.component.type"


def attach() -> Callable[[], None]:
    """Listen from now on, beside the tracer that the user has set, and return what ends that."""
    from haystack import tracing

    proxy = tracing.tracer
    users = proxy.actual_tracer
    class_ = type("ModelCallsTracer", (_Tracer, tracing.Tracer), {})
    span_class = type("ModelCallsSpan", (_Span, tracing.Span), {})
    ours = class_(users, span_class)
    proxy.actual_tracer = ours

    def detach() -> None:
        if proxy.actual_tracer is ours:
            proxy.actual_tracer = users

    return detach


class _Tracer:
    """Counts the calls and hands everything on; its methods are those of Haystack's `Tracer`."""

    def __init__(self, users: Any, span: Any) -> None:
        self._users = users
        self._span = span

    @contextmanager
    def trace(self, operation_name: str, tags: dict[str, Any] | None = None, parent_span: Any = None) -> Iterator[Any]:
        """Trace a component, and count it if it is a generator or an embedder that asks a provider."""
        parent = parent_span.handed_on if isinstance(parent_span, self._span) else parent_span
        with self._users.trace(operation_name, tags=tags, parent_span=parent) as span:
            call, tally = _call((tags or {}).get(_TYPE, "")), current_tally()
            if call is None or tally is None:
                yield span
            else:
                tally.add(call)
                yield self._span(span, call)

    def current_span(self) -> Any:
        """Return the user's current span."""
        return self._users.current_span()


class _Span:
    """Sees what goes into a component and out of it; its methods are those of Haystack's `Span`."""

    def __init__(self, handed_on: Any, call: ModelCall) -> None:
        self.handed_on = handed_on
        self._call = call

    def set_tag(self, key: str, value: Any) -> None:
        """Hand on."""
        self.handed_on.set_tag(key, value)

    def set_content_tag(self, key: str, value: Any) -> None:
        """Count the characters, and hand on."""
        if key.endswith(".input"):
            self._call.sent = _characters(value)
        elif key.endswith(".output") and isinstance(value, Mapping):
            self._call.answered = _characters(value.get("replies", ()))
            metas = [getattr(reply, "meta", reply) for reply in (value.get("meta") or value.get("replies") or ())]
            _note_usage(self._call, next((one for one in metas if isinstance(one, Mapping)), value.get("meta")))
        self.handed_on.set_content_tag(key, value)

    def raw_span(self) -> Any:
        """Hand on."""
        return self.handed_on.raw_span()

    def get_correlation_data_for_logs(self) -> Any:
        """Hand on."""
        return self.handed_on.get_correlation_data_for_logs()


def _call(kind: str) -> ModelCall | None:
    """Return a call of a component of a class; None if it calls no model that counts."""
    if kind.endswith("Generator"):
        return ModelCall("language model", kind, 0)
    if kind.endswith("Embedder") and kind.startswith(_PROVIDERS):
        return ModelCall("embedding model", kind, 0)
    return None


def _note_usage(call: ModelCall, meta: Any) -> None:
    """Note the model and its tokens, as generators and embedders tell them."""
    if not isinstance(meta, Mapping):
        return
    if isinstance(meta.get("model"), str):
        provider = "openai" if call.model.startswith("OpenAI") else call.model
        call.model = f"{provider}:{meta['model']}"
    usage = meta.get("usage")
    if isinstance(usage, Mapping) and usage.get("prompt_tokens") is not None:
        call.usage = Usage(usage["prompt_tokens"], usage.get("completion_tokens") or 0)


def _characters(value: Any) -> int:
    """Return how many characters the texts of a component's inputs or replies have."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(_characters(one) for key, one in value.items() if key in ("prompt", "messages", "text"))
    if isinstance(value, (list, tuple)):
        return sum(map(_characters, value))
    return len(getattr(value, "text", None) or "")
