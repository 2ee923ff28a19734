"""What is shown of repairs: the changes worth making, the causes, and each lost fact with its mend."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from raglift.rendering.document import Cell, Detail, Document, Section, Table, row_of
from raglift.rendering.presenting import view_of
from raglift.repairing.changes import CAUSES
from raglift.repairing.records import UNEXPLAINED, Repairs
from raglift.report.format import confidence_text, interval_in_words, number_text, p_equation
from raglift.utilities.display import counted, excerpt

if TYPE_CHECKING:
    from raglift.repairing.records import LostFact, Proposal

_SHOWN = 20
_QUESTION = 70


def repairs_view(repairs: Repairs, *, detail: Detail = Detail.SUMMARY) -> Document:
    """Return what is shown of repairs."""
    detailed = detail >= Detail.DETAILS
    lost, causes = repairs.lost, Counter(one.cause for one in repairs.lost)
    explained = len(lost) - causes[UNEXPLAINED]
    lead = f"{counted(len(lost), 'fact')} lost at k = {repairs.k}; a cause is found for {explained:,}."
    lead += "".join(f" {_sentence(one)}" for one in repairs.proposals) or " No change is worth proposing."
    order = [*CAUSES, UNEXPLAINED]
    rows = [
        row_of((cause, f"{count:,}", CAUSES.get(cause, "no tried change finds it, or only by luck")))
        for cause, count in sorted(causes.items(), key=lambda item: (-item[1], order.index(item[0])))
    ]
    return Document(
        title=f"Repairs: {repairs.system}",
        lead=lead,
        headline=Table(
            "Lost facts by their cause", ("cause", "facts", "what it means"), tuple(rows), text_columns=(0, 2)
        ),
        measured=(),
        notes=repairs.notes,
        sections=(*_proposals(repairs), _facts(lost if detailed else lost[:_SHOWN], len(lost), detailed=detailed)),
        printed=Detail.SUMMARY,
    )


def _sentence(proposal: Proposal) -> str:
    """Return a proposal in one sentence, with what it gains and costs on the questions it was not chosen on."""
    what = " and ".join(change.title for change in proposal.changes)
    found = proposal.difference
    between = interval_in_words(found, confidence_text(found.confidence), 3, signs=True)
    tokens = f"{number_text(proposal.tokens, 0)} tokens a prompt in place of {number_text(proposal.tokens_before, 0)}"
    return (
        f"Try {what}: of {proposal.questions:,} questions that took no part in the choice it mends {proposal.mended:,} "
        f"and breaks {proposal.broken:,} (recall {found.mean:+.3f}, {between}, {p_equation(found.p)}), with {tokens}."
    )


def _proposals(repairs: Repairs) -> list[Section]:
    rows = [
        row_of(
            (
                " and ".join(change.title for change in one.changes),
                f"{one.mended:,}",
                f"{one.broken:,}",
                f"{number_text(one.tokens, 0)}",
                " ".join(change.settings for change in one.changes),
                ", ".join(one.mended_ids[:3]),
            )
        )
        for one in repairs.proposals
    ]
    columns = ("change", "mended", "broken", "tokens", "raglift evaluate …", "for example")
    table = Table(
        "Changes worth making, on questions they were not chosen on", columns, tuple(rows), text_columns=(0, 4, 5)
    )
    return [Section("Proposals", tables=(table,))] if rows else []


_COLUMNS = ("id", "question", "fact", "cause", "smallest mend")
_MORE = ("its rank", "BM25 alone", "embedding alone", "words that its passages lack")


def _facts(shown: tuple[LostFact, ...], count: int, *, detailed: bool) -> Section:
    rows = [
        row_of(
            (
                *(one.query_id, excerpt(one.question, _QUESTION), f"{one.fact}", one.cause, _mend(one)),
                *(_ranks(one) if detailed else ()),
            )
        )
        for one in shown
    ]
    said = (f"The first {len(shown)} of {count:,}.",) if len(shown) < count else ()
    columns = (*_COLUMNS, *(_MORE if detailed else ()))
    words = tuple(place for place in (0, 1, 3, 4, 8) if place < len(columns))
    return Section("Lost facts", said, (Table("Lost facts", columns, tuple(rows), text_columns=words),))


def _mend(fact: LostFact) -> Cell:
    """Return the change that finds a fact, and whether only by luck."""
    mend = fact.mend
    if mend is None:
        return Cell("no tried change finds it", "muted")
    found = f"{mend.change.title}: rank {mend.rank}"
    if fact.cause != UNEXPLAINED:
        return Cell(found)
    return Cell(f"{found}, by luck: {mend.agreeing:.0%} of neighbouring settings agree", "muted")


def _ranks(fact: LostFact) -> tuple[str, ...]:
    """Return where a fact is in the system's ranking and in those of each retriever alone, and what words it lacks."""
    alone = dict(fact.alone)
    ranks = [fact.rank, *(alone.get(name) for name in ("BM25", "embedding"))]
    return (*("–" if rank is None else f"{rank:,}" for rank in ranks), excerpt(" ".join(fact.missing), _QUESTION))


view_of.register(Repairs, repairs_view)
