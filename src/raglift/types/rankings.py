"""Hits, rankings, traces and runs, and what they cost."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import count, repeat
from numbers import Integral, Real
from typing import Any, cast

from raglift.errors import ConfigurationError
from raglift.types.documents import Chunk
from raglift.utilities.display import counted
from raglift.utilities.validation import described, shown

# The output of a system: ranked hits, stage by stage.


CANDIDATES = "candidates"
"""The name of a stage: what rerankers got of a system that ranks otherwise when it is asked for more hits."""


@dataclass(frozen=True, init=False, slots=True)
class Hit:
    """A chunk at a rank with a score.

    Raises:
        ConfigurationError: no chunk, no rank of 1 or more, or a score that is no number.
    """

    chunk: Chunk
    """What was returned; its id survives every reranker."""
    rank: int
    """1 is the first."""
    score: float | None = None
    """As the stage gave it, on the stage's own scale, as a float; None when it gave none."""

    # Written out: there may be millions, and this takes no longer with the checks than what `dataclass` writes without
    def __init__(self, chunk: Chunk, rank: int, score: float | None = None) -> None:
        known = type(chunk) is Chunk and type(rank) is int and (score is None or type(score) is float)
        if not known or rank < 1:
            rank, score = _checked(chunk, rank, score)
        _set_chunk(self, chunk)
        _set_rank(self, rank)
        _set_score(self, score)


# A frozen record is filled by its slots
_set_chunk, _set_rank, _set_score = (getattr(Hit, name).__set__ for name in ("chunk", "rank", "score"))


def hits_of(chunks: Iterable[Chunk], scores: Sequence[float | None]) -> tuple[Hit, ...]:
    """Return hits in their order; the types of chunks and scores are known: many take less time than one by one."""
    hits = tuple(map(object.__new__, repeat(Hit, len(scores))))
    for set_one, values in ((_set_chunk, chunks), (_set_rank, count(1)), (_set_score, scores)):
        deque(map(set_one, hits, values), maxlen=0)
    return hits


def _checked(chunk: object, rank: object, score: object) -> tuple[int, float | None]:
    """Return rank and score; numbers of NumPy, fractions, decimals and arrays of one number are numbers too."""
    if not isinstance(chunk, Chunk):
        raise ConfigurationError(f"Hit.chunk: found {described(chunk)}; expected a Chunk")
    if isinstance(rank, bool) or not isinstance(rank, Integral) or rank < 1:
        raise ConfigurationError(f"Hit.rank: found {described(rank)}; expected an integer: 1 is the first")
    if score is None:
        return int(rank), None
    is_number = isinstance(score, (Real, Decimal)) or getattr(score, "shape", None) == ()
    if is_number and not isinstance(score, bool):
        with suppress(OverflowError, TypeError, ValueError):
            return int(rank), float(cast("Any", score))
    raise ConfigurationError(f"Hit.score: found {described(score)}; expected a number that fits into a float, or None")


@dataclass(frozen=True)
class Ranking:
    """The ordered hits of one query after one stage."""

    hits: tuple[Hit, ...] = ()
    """Best first; ranks run from 1 without gaps."""

    @classmethod
    def of(cls, scored: Iterable[tuple[Chunk, float | None]]) -> Ranking:
        """Build a ranking from chunks and scores that are already in order, best first."""
        return cls(tuple(Hit(chunk, rank, score) for rank, (chunk, score) in enumerate(scored, start=1)))

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """The chunks in order."""
        return tuple(hit.chunk for hit in self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __getitem__(self, index: int) -> Hit:
        return self.hits[index]


@dataclass(frozen=True)
class StageTrace:
    """What one stage did to one query."""

    stage: str
    """The stage's name: `retrieve`, `rerank`, …"""
    ranking: Ranking
    """The hits after the stage."""
    seconds: float
    """Time of the call; for a stage that takes all queries at once, its share of the batch."""
    retries: int = 0
    """How often the call was made again after a failure, before it returned this."""


@dataclass(frozen=True)
class Call:
    """One search of a session: what an agent asked, and the hits that came back.

    Raises:
        ConfigurationError: a query or tool that is no text, stages that are no rankings or have a name twice, or tokens
            or seconds that are not finite numbers of 0 or more.
    """

    query: str
    """The text that was searched for; an agent may word it otherwise than the question."""
    stages: tuple[StageTrace, ...] = ()
    """The hits after each stage, as before and after reranking; none for a call that failed."""
    tool: str = ""
    """The name of the tool that was called; empty where it is not known."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """What else the tool was given."""
    tokens: int | None = None
    """The tokens that the call's answer took in the prompt, as the agent's framework counted them; None if unknown."""
    seconds: float | None = None
    """How long the call took; None if unknown."""
    error: str | None = None
    """Why the call failed; None if it did not."""

    def __post_init__(self) -> None:
        for name, text in (("query", self.query), ("tool", self.tool), ("error", self.error or "")):
            if not isinstance(text, str):
                raise ConfigurationError(f"Call.{name}: found {described(text)}; expected a text")
        if not isinstance(self.stages, (list, tuple)) or not all(isinstance(one, StageTrace) for one in self.stages):
            raise ConfigurationError(
                f"Call.stages: found {described(self.stages)}; expected a StageTrace for each stage, or rankings or "
                "lists of chunks through Call.of(question, hits)"
            )
        names = [stage.stage for stage in self.stages]
        if len(set(names)) < len(names):
            raise ConfigurationError(f"Call.stages: found the stages {', '.join(names)}; expected each name once")
        object.__setattr__(self, "stages", tuple(self.stages))
        if not isinstance(self.arguments, Mapping):
            raise ConfigurationError(f"Call.arguments: found {described(self.arguments)}; expected a mapping")
        for name, number, is_whole in (("tokens", self.tokens, True), ("seconds", self.seconds, False)):
            if number is not None and not _is_amount(number, is_whole=is_whole):
                kind = "an integer" if is_whole else "a number"
                raise ConfigurationError(
                    f"Call.{name}: found {described(number)}; expected {kind}, 0 or more, or None where it is not known"
                )

    @classmethod
    def of(
        cls,
        query: str,
        hits: object,
        *,
        tool: str = "",
        arguments: Mapping[str, Any] | None = None,
        tokens: int | None = None,
        seconds: float | None = None,
        error: str | None = None,
    ) -> Call:
        """Make a call of its hits.

        Args:
            query: the text that was searched for.
            hits: a `Ranking`, or chunks, best first; or, for a search with a reranker, one of these for each stage by
                name, as `{"retrieve": found, "rerank": reordered}`.
            tool: the name of the tool that was called.
            arguments: what else it was given.
            tokens: the tokens that the call's answer took in the prompt.
            seconds: how long the call took.
            error: why the call failed.

        Raises:
            ConfigurationError: hits that are no chunks, or a value that cannot be used.
        """
        named = hits if isinstance(hits, Mapping) else {"retrieve": hits}
        stages = tuple(
            StageTrace(str(name), ranking_of(found, f"the hits of the call {shown(query)}"), 0.0)
            for name, found in named.items()
        )
        given = {} if arguments is None else arguments
        return cls(query, stages, tool=tool, arguments=given, tokens=tokens, seconds=seconds, error=error)

    @property
    def ranking(self) -> Ranking:
        """The hits after the last stage; none for a call that failed."""
        return self.stages[-1].ranking if self.stages else Ranking()


def ranking_of(hits: object, where: str) -> Ranking:
    """Return hits as a ranking: one, or chunks or hits in order, which are numbered anew."""
    if isinstance(hits, Ranking):
        return hits
    if isinstance(hits, str) or not isinstance(hits, Iterable):
        raise ConfigurationError(f"{where}: found {described(hits)}; expected a list of chunks, best first")
    scored: list[tuple[Chunk, float | None]] = []
    for number, hit in enumerate(hits, start=1):
        if isinstance(hit, Hit):
            scored.append((hit.chunk, hit.score))
        elif isinstance(hit, Chunk):
            scored.append((hit, None))
        else:
            raise ConfigurationError(f"{where}: found {described(hit)} as number {number}; expected a Chunk or a Hit")
    return Ranking.of(scored)


def _is_amount(number: object, *, is_whole: bool) -> bool:
    known = isinstance(number, Integral if is_whole else Real) and not isinstance(number, bool)
    return known and 0 <= float(cast("Any", number)) < float("inf")  # which NaN is not


@dataclass(frozen=True)
class Trace:
    """What happened to one query: its ranking and seconds per stage, or its error."""

    query_id: str
    """The id of the query."""
    stages: tuple[StageTrace, ...] = ()
    """The stages that finished, in order; of a session, the hits of its calls one after the other."""
    error: str | None = None
    """Why the query failed, and in which stage; None when it did not."""
    calls: tuple[Call, ...] | None = None
    """The searches of a session, in order; None for a system that is asked once."""
    context: Ranking | None = None
    """Of a session, the hits that reached the prompt of the answer; None where that is not known."""
    repetitions: tuple[Trace, ...] = ()
    """Further runs of the same query, as agents differ from run to run; they have no repetitions of their own."""
    matching: int | None = None
    """How many chunks of the index match the query's filter; None for a query without, and where it is not known."""
    retries: int = 0
    """How often a call was made again that no stage tells of: of the stage that failed, or of the run of a session."""

    @property
    def calls_again(self) -> int:
        """How many calls were made again after a failure, in all stages and repetitions.

        A call for all queries at once counts for each of them.
        """
        of_stages = sum(stage.retries for stage in self.stages)
        return of_stages + self.retries + sum(again.calls_again for again in self.repetitions)


@dataclass(frozen=True)
class ReadInPart:
    """How much of what it was given a reranker did not read to the end, because its model reads no more tokens."""

    candidates: int
    """How many candidates were scored by their beginning only; a cross-encoder reads a candidate together with its
    query. A chunk counts once for each query that it is a candidate of."""
    of: int
    """How many candidates there were."""
    queries: int = 0
    """How many queries were read by their beginning only."""


@dataclass(frozen=True)
class ChangedHits:
    """How many of the hits of a reranker are not the candidates that it was given."""

    of: int
    """How many hits it returned."""
    added: int = 0
    """Hits that were not among its candidates."""
    changed: int = 0
    """Candidates whose text has something that it did not have before, or that name another document or location."""
    repeated: int = 0
    """Candidates that came once more, or parts of them that came already for the most part."""
    excerpts: int = 0
    """Hits whose text is a part of a candidate's; what they prove was among the candidates."""
    queries: int = 0
    """How many queries have hits that were added, changed or repeated."""
    example: str = ""
    """Where the first of these is: the query, the rank and the beginning of the text; empty if there are none."""

    @property
    def not_candidates(self) -> int:
        """Hits that were added, changed or repeated: what they alone bring earns no lift."""
        return self.added + self.changed + self.repeated


@dataclass(frozen=True)
class Vocabulary:
    """How well the vocabulary of a model knows the texts, in a sample of queries and documents."""

    model: str
    """The name of the embedding model or the reranker."""
    tokens: int
    """How many tokens the sample has."""
    unknown: int
    """How many of them stand for something that the vocabulary does not have."""
    letters_per_token: float | None = None
    """How many letters the other tokens that have letters are long, a Chinese character counting as three: about 4 in a
    language that the vocabulary was made for, about 1 where it spells words out. None where there is no letter."""
    language: str | None = None
    """The language of the texts, as an ISO 639-1 code; None where it is not certain."""
    trained_on: tuple[str, ...] = ()
    """The languages that the model's card names; none where it names none, or many."""


@dataclass(frozen=True)
class StageInfo:
    """A named step of a system, as it was run."""

    name: str
    """Unique within the system: `retrieve`, `rerank`, …"""
    system: str
    """What did the work: class, model, settings that matter."""
    depth_fixed: tuple[str, ...] = ()
    """The parts whose depth (k or top_n) could not be set; figures at a deeper k are marked."""
    batched: bool = False
    """Whether all queries went in at once, so that seconds are shares of a batch."""
    read_in_part: ReadInPart | None = None
    """What a reranker did not read to the end; None for a retriever, and where it is not known."""
    has_own_depth: bool = False
    """Whether it was asked with its own settings for the number of hits, and returned no more than these say."""
    changed_hits: ChangedHits | None = None
    """Which of a reranker's hits are not its candidates; None if there are none, and where it is not known."""
    vocabularies: tuple[Vocabulary, ...] = ()
    """How well its models know the texts; none where nothing is known of them."""
    chunks_read_in_part: tuple[tuple[int, int], ...] = ()
    """For each index that it searches whose embedding model truncated chunks: how many, of how many distinct ones."""
    by_pair: bool = False
    """Whether it is a reranker that is known to score each hit by itself, whatever other hits it is given."""


@dataclass(frozen=True, repr=False)
class Inventory:
    """What is known of all chunks of an index: those that any label could match."""

    chunks: int
    """How many chunks there are."""
    touching: tuple[Chunk, ...] = ()
    """The chunks that share anything with a passage of a labelled query, or abut it."""
    touches: tuple[tuple[int, int, int, int], ...] = ()
    """Which of them overlaps which passage: the number of the query, of the fact among all facts of labelled queries,
    of the alternative in the fact, and of the chunk in `touching`."""
    minimum_length: int = 20
    """A chunk of fewer normalized characters, counted as letters of an alphabet, was not looked for inside a longer
    passage."""
    unicode_folding: bool = False
    """Whether texts were folded before they were compared."""

    def __repr__(self) -> str:
        return f"Inventory({self.chunks:,} chunks, {len(self.touching):,} of them touch a passage)"


@dataclass(frozen=True, repr=False)
class Run:
    """The traces of one system over one dataset, with what was asked of it."""

    stages: tuple[StageInfo, ...]
    """The steps of the system, in order."""
    traces: tuple[Trace, ...]
    """One for each query of the dataset, in its order."""
    spec: Mapping[str, Any]
    """What was asked: candidates, models, settings, versions, dataset hash."""
    notes: tuple[str, ...] = ()
    """Notes for readers of the figures: failures, cut chunks, unverified offsets, …"""
    inventory: Inventory | None = None
    """What is known of the index's chunks; None for a system that does not tell them."""
    cost: Cost | None = None
    """What the answers cost in time and space; None when nothing is known."""

    def __repr__(self) -> str:
        stages = " + ".join(stage.name for stage in self.stages)
        failed = sum(trace.error is not None for trace in self.traces)
        return f"Run({stages}, {counted(len(self.traces), 'question')}, {failed:,} failed)"

    @property
    def has_sessions(self) -> bool:
        """Whether the system searched as often as it chose: some trace has calls."""
        return any(trace.calls is not None for trace in self.traces)


# Costs of a system: seconds per stage, queries per second, and its index.


@dataclass(frozen=True)
class StageLatency:
    """How long one stage took for one query, over the queries that were asked one at a time.

    Percentiles are interpolated linearly between the two nearest of the sorted times (NumPy's default).
    """

    stage: str
    """The stage's name: `retrieve`, `rerank`, …"""
    queries: int
    """How many queries came through the stage; the percentiles are over these."""
    p50: float
    """The median, in seconds; NaN when no query came through."""
    p95: float
    """The 95th percentile, in seconds; NaN when no query came through."""
    failed: int = 0
    """How many queries failed in the stage; they are left out of the percentiles."""


@dataclass(frozen=True)
class IndexCost:
    """What an index took to build, and what it holds."""

    chunks: int
    """How many chunks are indexed."""
    distinct_texts: int
    """How many different texts they have."""
    embedded_now: int
    """How many distinct texts went through the embedding model when the index was built; the vectors of the others
    were in the cache. 0 for an index without vectors."""
    seconds: float | None
    """Wall time of embedding and indexing, without loading the model; None when vectors came from the cache,
    because then nobody waited for them."""
    bytes: int
    """Size of the vectors, or of the postings and the vocabulary; the chunks' texts are not counted."""
    read_in_part: int | None = None
    """How many distinct texts are longer than the embedding model reads; None where that is not known."""

    @classmethod
    def together(cls, parts: Sequence[IndexCost]) -> IndexCost:
        """Return the cost of several indexes over the same chunks, as a hybrid retriever has them.

        Texts embedded, seconds and bytes add up; the chunks are counted once. The seconds are None when any part's are.
        Of the texts read in part the most that one part has are counted.

        Args:
            parts: at least one.
        """
        seconds = [part.seconds for part in parts if part.seconds is not None]
        return cls(
            chunks=max(part.chunks for part in parts),
            distinct_texts=max(part.distinct_texts for part in parts),
            embedded_now=sum(part.embedded_now for part in parts),
            seconds=sum(seconds) if len(seconds) == len(parts) else None,
            bytes=sum(part.bytes for part in parts),
            read_in_part=max((part.read_in_part for part in parts if part.read_in_part is not None), default=None),
        )


@dataclass(frozen=True)
class Cost:
    """Cost against quality; the machine it was measured on is in the run's spec, under `environment`."""

    latencies: tuple[StageLatency, ...] = ()
    """Seconds of each stage, in the order of the stages, from a pass of its own: one query at a time, models warm,
    cache off. Empty when it was not asked for."""
    whole: StageLatency | None = None
    """Seconds of all stages together, over the queries that came through them all; None when it was not asked for."""
    index: IndexCost | None = None
    """What the index took; None for a system that does not say."""
    throughput: Mapping[str, float | None] = field(default_factory=dict)
    """For each stage, queries answered a second when all queries of the dataset were asked, at the run's concurrency;
    None if answers came from the cache. Empty if latency was not requested, in which case possibly no model was
    loaded."""
