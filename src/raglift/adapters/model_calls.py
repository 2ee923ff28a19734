"""The calls of models that a system makes while it is asked, as its framework tells of them.

Counted are the calls of language models, and those of embedding models that are asked with a key. A call belongs to the
query that is being asked in the context in which it is made. Where a system makes calls in threads that it starts
itself, which have another context, they belong to the only evaluation that is under way in the process, if there is
one.
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from raglift.llm.replies import Usage


CallKind = Literal["language model", "embedding model"]
"""What was called."""
_FRAMEWORKS = {
    "langchain_core": "raglift.adapters.langchain_model_calls",
    "llama_index.core": "raglift.adapters.llama_index_model_calls",
    "haystack": "raglift.adapters.haystack_model_calls",
}
"""The frameworks that tell of their calls, and the modules whose `attach` listens to them and returns how to stop."""


@dataclass
class ModelCall:
    """One call; what was answered is filled in when the answer is there."""

    kind: CallKind
    """What was called."""
    model: str
    """As `openai:gpt-4o-mini`, or as the framework calls it."""
    sent: int
    """Characters of the prompt or the texts."""
    answered: int = 0
    """Characters of the answer."""
    usage: Usage | None = None
    """Tokens that the provider counted; None where it does not say."""


@dataclass
class Tally:
    """The calls that were made for a query or a whole evaluation."""

    whole: Tally | None = None
    """Where they are counted too."""
    calls: list[ModelCall] = field(default_factory=list)
    """In the order in which they began."""

    def add(self, call: ModelCall) -> None:
        """Count a call."""
        self.calls.append(call)
        if self.whole is not None:
            self.whole.add(call)

    @contextmanager
    def part(self) -> Iterator[Tally]:
        """Yield a tally of the calls that are made inside the block; they are counted here, too."""
        _listen_to_frameworks()  # one that the system imported when it was first asked
        part = Tally(self)
        token = _current.set(part)
        try:
            yield part
        finally:
            _current.reset(token)


_current: ContextVar[Tally | None] = ContextVar("raglift model calls", default=None)
_under_way: list[Tally] = []
"""Of the evaluations that are under way in this process."""
_attached: dict[str, Callable[[], None]] = {}
"""The frameworks that are listened to, and how that ends."""
_attaching = threading.RLock()


@contextmanager
def listening() -> Iterator[Tally]:
    """Yield a tally of the calls that are made inside the block."""
    whole = Tally(_current.get())
    with _attaching:
        _under_way.append(whole)
        _listen_to_frameworks()
    token = _current.set(whole)
    try:
        yield whole
    finally:
        _current.reset(token)
        with _attaching:
            _under_way[:] = [one for one in _under_way if one is not whole]
            if not _under_way:
                while _attached:
                    _attached.popitem()[1]()


def current_tally() -> Tally | None:
    """Return where a call that is made now is counted; None if nothing listens."""
    tally = _current.get()
    return _under_way[0] if tally is None and len(_under_way) == 1 else tally


def frameworks_loaded() -> bool:
    """Whether a framework is loaded that tells of calls of models."""
    return any(map(_is_loaded, _FRAMEWORKS))


def _is_loaded(framework: str) -> bool:
    return sys.modules.get(framework) is not None  # None says that it must not be imported


def _listen_to_frameworks() -> None:
    """Listen to the frameworks that are loaded; what none of them loads is not imported."""
    if all(name in _attached or not _is_loaded(name) for name in _FRAMEWORKS):
        return
    with _attaching:
        for name, listener in _FRAMEWORKS.items():
            if _under_way and _is_loaded(name) and name not in _attached:
                _attached[name] = import_module(listener).attach()
