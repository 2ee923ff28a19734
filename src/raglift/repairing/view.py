"""What is shown of repairs: the changes worth making, the causes, and each lost fact with its mend."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from urllib.parse import quote

from raglift.rendering.document import Cell, Column, Detail, Document, Entry, Section, table_from
from raglift.rendering.presenting import view_of
from raglift.repairing.records import CAUSES, UNEXPLAINED, Cost, LostFact, Proposal, Repairs
from raglift.report.format import bytes_text, confidence_text, interval_in_words, number_text, p_equation
from raglift.utilities.display import counted, excerpt, listed

_SHOWN = 10
_QUERIES = 5
_QUESTION = 70
_WORDS = 6


def repairs_view(repairs: Repairs, *, detail: Detail = Detail.DETAILS) -> Document:
    """Return what is shown of repairs."""
    detailed = detail >= Detail.DETAILS
    lost, causes = repairs.lost, dict(repairs.causes)
    explained = len(lost) - causes.get(UNEXPLAINED, 0)
    lead = f"{counted(len(lost), 'fact')} lost at k = {repairs.k}; a cause is found for {explained:,}."
    lead += " No change is shown to help questions that it was not chosen on." * bool(
        repairs.effects and not repairs.proposals
    )
    unexplained = "no change finds it, or only by luck"
    columns = [
        Column[str]("cause", str, words=True),
        Column[str]("facts", lambda cause: f"{causes[cause]:,}"),
        Column[str]("what it means", lambda cause: CAUSES.get(cause, unexplained), words=True),
    ]
    sections = (_proposals(repairs, detailed=detailed), _facts(repairs, detailed=detailed))
    return Document(
        title="Why facts are lost, and what mends them",
        lead=lead,
        headline=table_from(columns, causes, "Lost facts by their cause"),
        measured=(("System", repairs.system),),
        about=(repairs.system,),
        notes=repairs.notes,
        sections=tuple(one for one in sections if any(table.rows for table in one.tables)),
        printed=Detail.SUMMARY,
    )


def _sentence(proposal: Proposal) -> str:
    """Return a proposal in one sentence, with what it gains and costs on the questions it was not chosen on."""
    found = proposal.difference
    between = interval_in_words(found, confidence_text(found.confidence), 3, signs=True)
    tokens = f"{number_text(proposal.cost.tokens, 0)} tokens a prompt in place of"
    return (
        f"Try {proposal.title}: {proposal.effect} (recall {found.mean:+.3f}, {between}, {p_equation(found.p)}), with "
        f"{tokens} {number_text(proposal.cost_before.tokens, 0)}."
    )


_COSTS: tuple[tuple[str, Callable[[Cost], str]], ...] = (
    ("tokens", lambda cost: number_text(cost.tokens, 0)),
    ("ms a question", lambda cost: number_text(cost.milliseconds, 0 if cost.milliseconds >= 10 else 1)),
    ("index", lambda cost: "–" if cost.index_bytes is None else bytes_text(cost.index_bytes)),
)


def _proposals(repairs: Repairs, *, detailed: bool) -> Section:
    def before_and_after(text: Callable[[Cost], str], proposal: Proposal) -> str:
        return f"{text(proposal.cost_before)} → {text(proposal.cost)}"

    columns = [
        Column[Proposal]("change", lambda one: one.title, words=True),
        Column[Proposal]("mended", lambda one: f"{len(one.mended):,}"),
        Column[Proposal]("broken", lambda one: f"{len(one.broken):,}"),
        *(Column[Proposal](title, partial(before_and_after, text)) for title, text in _COSTS),
    ]
    if detailed:
        columns += [
            Column[Proposal]("mended questions", lambda one: listed(one.mended, _QUERIES), words=True),
            Column[Proposal]("broken questions", lambda one: listed(one.broken, _QUERIES), words=True),
        ]
    caption = "Changes worth making, on questions they were not chosen on"
    settings = tuple(Entry(f"raglift evaluate … {one.settings}") for one in repairs.proposals if one.settings)
    table = table_from(columns, repairs.proposals, caption)
    return Section("Proposals", tuple(map(_sentence, repairs.proposals)), (table,), entries=settings)


def _facts(repairs: Repairs, *, detailed: bool) -> Section:
    effects = {one.change: f"{one.mended:,} / {one.broken:,}" for one in repairs.effects}

    def effect(fact: LostFact) -> str:
        return "" if fact.mend is None else effects.get(fact.mend.change, "")

    def alone(name: str, fact: LostFact) -> str:
        return _rank(dict(fact.alone).get(name))

    columns = [
        Column[LostFact](
            "id",
            lambda one: Cell(one.query_id, link=f"#queries?query={quote(one.query_id, safe='', errors='replace')}"),
            words=True,
        ),
        Column[LostFact]("question", lambda one: excerpt(one.question, _QUESTION), words=True),
        Column[LostFact]("fact", lambda one: f"{one.fact}"),
        Column[LostFact]("cause", lambda one: one.cause, words=True),
        Column[LostFact]("smallest mend", _mend, words=True),
        Column[LostFact]("mends / breaks", effect, definition=f"questions, of all {repairs.questions:,}"),
    ]
    if detailed:
        columns += [
            Column[LostFact]("its rank", lambda one: _rank(one.rank)),
            Column[LostFact]("BM25 alone", partial(alone, "BM25")),
            Column[LostFact]("embedding alone", partial(alone, "embedding")),
            Column[LostFact]("words it lacks", lambda one: listed(one.missing, _WORDS), words=True),
            Column[LostFact]("what won instead", _rival, words=True),
        ]
    shown = repairs.lost if detailed else repairs.lost[:_SHOWN]
    said = (f"The first {len(shown)} of {len(repairs.lost):,}.",) if len(shown) < len(repairs.lost) else ()
    return Section("Lost facts", said, (table_from(columns, shown, "Lost facts", sortable=detailed),))


def _rank(rank: int | None) -> str:
    return "–" if rank is None else f"{rank:,}"


def _mend(fact: LostFact) -> Cell:
    """Return the change that finds a fact, and whether only by luck."""
    mend = fact.mend
    if mend is None:  # of most causes that the labels and the hits tell, nothing is tried
        return Cell("no tried change finds it" if fact.cause == UNEXPLAINED else "–", "muted")
    return Cell(f"{mend.change.title}: rank {mend.rank}{mend.doubt}", "muted" if mend.doubt else "")


def _rival(fact: LostFact) -> str:
    """Return the hit that won against a fact, and what speaks for it."""
    rival = fact.rival
    if rival is None:
        return "nothing was retrieved"
    scores = [f"{score:.3f}" for score in (rival.score, rival.passage_score) if score is not None]
    better = [f"score {' against '.join(scores)}"] * bool(scores)
    better += [f"has {listed(rival.words, _WORDS)}"] * bool(rival.words)
    return f"{rival.doc_id or rival.chunk_id}: “{excerpt(rival.text, _QUESTION)}” ({'; '.join(better)})"


view_of.register(Repairs, repairs_view)
