"""Asking a user's system only for what it has not answered yet: its answers are kept one by one as they come."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raglift.adapters.functions import function_of
from raglift.adapters.stages import RerankStage, Stage, asked_of
from raglift.errors import CacheError, RunError
from raglift.retrieval.services.mapping import mapping_digest
from raglift.retrieval.services.retriever import ServiceRetriever
from raglift.running.calls import Outcome
from raglift.running.execution import ask_stage
from raglift.storage.answers import Answer, AnswerStore, hits_as_json
from raglift.types.rankings import Ranking
from raglift.types.sessions import Session
from raglift.utilities.cache import Cache, content_key
from raglift.utilities.display import printable
from raglift.utilities.functions import settings_of
from raglift.utilities.limits import user_path
from raglift.utilities.replacing import hold_lock

if TYPE_CHECKING:
    from raglift.adapters.policy import Policy
    from raglift.running.settings import Settings
    from raglift.types.filters import Filter


FILE = "answers.sqlite"
"""The file of the answers in their folder."""
LOCK = "lock"
"""The file beside them that is locked while they are used."""
_TEXTS_ALONE = ("raglift.retrieval.", "raglift.adapters.functions")
"""Rerankers of these modules get the texts of hits, and nothing else of what a framework returned."""


@contextmanager
def keeping_answers(config: Settings, system: Any) -> Iterator[KeptAnswers | None]:
    """Yield what keeps the answers of a system; None if that is not asked for.

    Args:
        config: says where.
        system: as the user gave it.

    Raises:
        RunError: the folder cannot be written, or another process works there.
        CacheError: the file in it is damaged.
    """
    if config.answers is None:
        yield None
        return
    folder = user_path(config.answers)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: of a name that none can have
        raise RunError(
            f"{printable(str(folder))}: cannot be written: {error}; expected a folder for answers"
        ) from error
    with (
        hold_lock(folder / LOCK, "an evaluation whose answers are kept there"),
        closing(_opened(folder / FILE)) as cache,
    ):
        yield KeptAnswers(AnswerStore(cache), (_name_of(system), config.doc_key or ""))


def _opened(path: Path) -> Cache:
    try:
        return Cache(path)
    except CacheError as error:  # which says that nothing is lost with the file
        reason = printable(str(error.__cause__ or error))
        raise CacheError(
            f"{path}: the answers of the system cannot be kept or read there: {reason}; expected a file of raglift's, "
            "or none: choose another folder, or move the file away, with the answers that it may hold"
        ) from error


def _name_of(system: Any) -> str:
    """Return what tells systems apart as far as raglift can see: an address, or where a function or class is from."""
    if isinstance(system, str):
        return system
    if isinstance(system, ServiceRetriever):
        return f"{system} {mapping_digest(system.mapping)}"
    named = system if hasattr(system, "__qualname__") else type(system)
    module = getattr(named, "__module__", "")
    return f"{module}:{named.__qualname__} of {getattr(sys.modules.get(str(module)), '__file__', None)}"


class KeptAnswers:
    """Keeps what the stages of a system answer.

    Args:
        store: where.
        identity: what the answers are of, besides the stage and the query.
    """

    def __init__(self, store: AnswerStore, identity: Sequence[str]) -> None:
        self.store = store
        self.identity = tuple(identity)
        self.failure: CacheError | None = None
        """Why nothing can be kept any more."""
        self._used: set[bytes] = set()
        self._earlier: set[bytes] = set()

    def of(self, stages: Sequence[Stage], part: str, then: Sequence[Stage] = ()) -> list[Stage]:
        """Return stages whose answers are kept. Those of raglift's own models are not: they have the cache.

        Args:
            stages: of one system, in order.
            part: tells them from the same system asked in another way.
            then: the rerankers that get their hits.
        """
        # A framework's reranker is given the framework's own objects, which no JSON holds
        needs_origin = any(_wants_origin(stage) for stage in then)
        kept: list[Stage] = []
        for number, stage in reversed(list(enumerate(stages))):
            asked = f"{part} {number} {settings_of(function_of(asked_of(stage)))}"
            keeper = _StageKeeper(self, asked, may_lose_origin=not needs_origin)
            kept.append(stage if _is_own(stage) else replace(stage, keeper=keeper))
            needs_origin = needs_origin or _wants_origin(stage)
        return kept[::-1]

    def use(self, keys: Sequence[bytes], known: dict[bytes, Answer]) -> None:
        """Count answers that a run is made of."""
        self._used.update(keys)
        self._earlier.update(key for key in known if self.store.is_of_earlier(key))

    @property
    def notes(self) -> tuple[str, ...]:
        """What readers of the run must know."""
        if not self._earlier:
            return ()
        count = f"{len(self._earlier):,} of {len(self._used):,} answers"
        return (f"{count} came from an earlier attempt, with their times; the others were asked now",)


def _wants_origin(stage: Stage) -> bool:
    return not type(asked_of(stage)).__module__.startswith(_TEXTS_ALONE)


def _is_own(stage: Stage) -> bool:
    """Whether a stage is one of raglift's own models or indexes."""
    component = asked_of(stage)
    return type(component).__module__.startswith("raglift.retrieval.") and not isinstance(component, ServiceRetriever)


class _StageKeeper:
    """Keeps the answers of one stage, and asks for the others."""

    def __init__(self, kept: KeptAnswers, part: str, *, may_lose_origin: bool) -> None:
        self.kept = kept
        self._part = part
        self.may_lose_origin = may_lose_origin

    def ask(
        self,
        stage: Stage,
        inputs: list[tuple[Any, ...]],
        policy: Policy,
        advance: Callable[[int], None],
    ) -> list[Outcome[Any]]:
        """Ask a stage for what it has not answered yet: see `ask_stage`.

        Raises:
            CacheError: an answer cannot be kept.
        """
        kept = self.kept
        keys = [self.key(stage, *given) for given in inputs]
        known = kept.store.find(keys)
        kept.use(keys, known)
        places = [place for place, key in enumerate(keys) if key not in known]
        if len(places) < len(keys):
            advance(len(keys) - len(places))
        asking = _Asking(self, stage, policy)
        waiting = [inputs[place] for place in places]
        found = ask_stage(asking.stage, waiting, policy, advance) if waiting else []
        if kept.failure is not None:
            raise kept.failure
        asked = dict(zip(places, found, strict=True))
        earlier = {key: Outcome(answer.value, answer.seconds, tries=answer.tries) for key, answer in known.items()}
        return [asked[place] if place in asked else earlier[key] for place, key in enumerate(keys)]

    def key(self, stage: Stage, query: str, given: Any, filtered: Filter | None = None) -> bytes:
        """Return the key of an answer: of all that raglift knows to decide it."""
        what = json.dumps(hits_as_json(given)) if isinstance(given, Ranking) else str(given)
        if filtered is not None:
            what = f"{what} {json.dumps(filtered.to_dict(), sort_keys=True)}"
        return content_key("answer of a system", *self.kept.identity, self._part, stage.system, what, query)


class _Asking:
    """One pass over a stage, whose answers are kept in the moment that they come."""

    def __init__(self, keeper: _StageKeeper, stage: Stage, policy: Policy) -> None:
        self._keeper = keeper
        self._stage = stage
        self._timeout = policy.timeout
        self._tries: Counter[bytes] = Counter()
        kept: Any = _Keeping(asked_of(stage), self)
        if isinstance(stage, RerankStage):
            self.stage: Stage = replace(stage, keeper=None, reranker=kept)
        else:
            self.stage = replace(stage, keeper=None, retriever=kept)
        vars(self.stage)["clearing"] = stage.clearing  # of the system, not of what keeps its answers
        self._clearing = stage.clearing.of_a_stage()  # what it changes is counted where the answers arrive

    def one(self, method: Callable[..., Any], query: str, given: Any, *filters: Filter | None) -> Any:
        """Ask for one query, with its filter where the stage takes one."""
        with self._call([query], [given], filters) as keep:
            ranking = method(query, given, *filters)
            keep([ranking])
        return ranking

    async def one_async(
        self, method: Callable[..., Awaitable[Any]], query: str, given: Any, *filters: Filter | None
    ) -> Any:
        """Ask for one query, with its filter where the stage takes one, without blocking."""
        with self._call([query], [given], filters) as keep:
            ranking = await method(query, given, *filters)
            keep([ranking])
        return ranking

    def many(
        self, method: Callable[..., Any], queries: Sequence[str], given: Any, *filters: Sequence[Filter | None]
    ) -> Any:
        """Ask for many queries at once: what comes back is kept together."""
        one_each = given if isinstance(given, list) else [given] * len(queries)
        with self._call(queries, one_each, filters[0] if filters else ()) as keep:
            rankings = method(queries, given, *filters)
            if isinstance(rankings, (list, tuple)) and len(rankings) == len(queries):
                keep(rankings)
        return rankings

    @contextmanager
    def _call(
        self, queries: Sequence[str], given: Sequence[Any], filters: Sequence[Filter | None] = ()
    ) -> Iterator[Callable[[Sequence[Any]], None]]:
        """Yield what keeps the answers of a call.

        A failure is not kept: whether the user can mend what it comes from, as a key that is not set, cannot be told.
        """
        kept, store = self._keeper.kept, self._keeper.kept.store
        if kept.failure is not None:  # whatever came now would be lost
            raise kept.failure
        each = zip(queries, given, filters or [None] * len(queries), strict=True)
        keys = [self._keeper.key(self._stage, *one) for one in each]
        self._tries.update(keys)
        began = time.perf_counter()

        def keep(rankings: Sequence[Any]) -> None:
            seconds = (time.perf_counter() - began) / len(rankings)
            with self._noting_failures():
                for key, ranking in zip(keys, rankings, strict=True):
                    if self._may_be_kept(ranking) and not self._is_late(began):
                        store.keep(key, Answer(self._clearing.answer(ranking), seconds, self._tries[key]))

        yield keep

    @contextmanager
    def _noting_failures(self) -> Iterator[None]:
        """Note that nothing can be kept: an error raised in a call would count as the query's."""
        try:
            yield
        except CacheError as error:
            self._keeper.kept.failure = error
            raise

    def _is_late(self, began: float) -> bool:
        """Whether the call was given up on before it ended."""
        return self._timeout is not None and time.perf_counter() - began >= self._timeout

    def _may_be_kept(self, ranking: Any) -> bool:
        """Whether an answer comes back as it is; what is no ranking is an error of its stage."""
        if isinstance(ranking, Session):
            return True
        if not isinstance(ranking, Ranking) or [hit.rank for hit in ranking] != list(range(1, len(ranking) + 1)):
            return False
        return self._keeper.may_lose_origin or all(hit.chunk.origin is None for hit in ranking)


class _Keeping:
    """A retriever or reranker whose answers are kept; it has the methods that the other has."""

    def __init__(self, asked: Any, asking: _Asking) -> None:
        self._asked = asked
        self._how: dict[str, Callable[..., Any]] = {
            **dict.fromkeys(("retrieve", "rerank"), asking.many),
            **dict.fromkeys(("retrieve_one", "rerank_one", "session_one"), asking.one),
            **dict.fromkeys(("aretrieve_one", "arerank_one", "asession_one"), asking.one_async),
        }

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._asked, name)
        return partial(self._how[name], found) if name in self._how and found is not None else found
