"""The public result of a search for wrong labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.auditing.label_suspects import SUSPECT_KINDS, Suspect, SuspectsRecord, find_suspects
from raglift.base.display import counted, excerpt
from raglift.components.models import EMBEDDED_MODEL
from raglift.errors import ConfigurationError
from raglift.records.dataset import LabelError
from raglift.rendering.document import Detail, Document, Section, Table, row_of
from raglift.report.format import number_text, percent_text
from raglift.report.presenting import view_of, whole
from raglift.results.analyses import FromRecord, Presentable
from raglift.results.comparison import distinct_names
from raglift.results.evaluation import Evaluation

if TYPE_CHECKING:
    import pandas as pd

    from raglift.records.dataset import Dataset


_SHOWN = 50
_FIRST = 20
_LONGEST = 90


@dataclass(frozen=True, eq=False, repr=False)
class Suspects(Presentable, FromRecord, SuspectsRecord):
    """The labels of a dataset that are probably wrong or incomplete, the strongest evidence first."""

    @property
    def label_error(self) -> LabelError:
        """The share of the labels that may be wrong, to be kept with a dataset: `replace(dataset, label_error=…)`.

        Raises:
            ConfigurationError: it is not known, as there are too few questions to exchange labels between.
        """
        if math.isnan(self.most_wrong):
            raise ConfigurationError(
                f"suspects: found {counted(self.facts, 'fact')} of {self.dataset}, whose labels cannot be exchanged; "
                "expected labels of several questions for an estimate of label error"
            )
        return LabelError(self.most_wrong, self.facts)

    def to_frame(self) -> pd.DataFrame:
        """Return one row a suspect, with the fields of `Suspect`; the ranks are one column a system."""
        import pandas as pd

        columns = [name for name in Suspect.__dataclass_fields__ if name != "ranks"]
        rows = [
            {name: getattr(one, name) for name in columns}
            | {f"rank in {name}": rank for name, rank in one.ranks.items()}
            for one in self.suspects
        ]
        return pd.DataFrame(rows) if rows else pd.DataFrame(columns=columns)


def suspects(
    dataset: Dataset,
    *,
    runs: Sequence[Evaluation] | Mapping[str, Evaluation] | None = None,
    embedding: str = EMBEDDED_MODEL,
    progress: bool | None = None,
) -> Suspects:
    """Find the labels that are probably wrong or incomplete, ranked by what speaks against them.

    Three systems that differ (BM25, dense, late interaction) rank paragraphs of the documents for each question. What
    they agree to rank far below another passage, or below one of another document, is suspect, and so is a label whose
    words stand again elsewhere without a label. It is for people to look at: a hard question looks like a wrong label.

    With `runs`, the systems are your own: the last rankings of evaluations of these queries, each counting the same,
    down to the depth that they have. No model is loaded then.

    Args:
        dataset: labels that are places in its documents; others are passed over.
        runs: two or more evaluations, in a list or by name, instead of raglift's own three systems.
        embedding: the model of the dense ranking.
        progress: whether to show progress; None decides by the terminal.

    Raises:
        ConfigurationError: no label is a place in a document; or runs of other queries, or whose hits are nowhere in
            the documents, or fewer than two.
    """
    named = None if runs is None else _named(runs)
    return Suspects.from_record(find_suspects(dataset, runs=named, embedding=embedding, progress=progress))


def _named(runs: object) -> dict[str, Evaluation]:
    """Return evaluations by name, called as `raglift.compare` calls them."""
    found = list(runs.values()) if isinstance(runs, Mapping) else list(runs) if isinstance(runs, Sequence) else [runs]
    given = [one for one in found if isinstance(one, Evaluation)]
    wrong = [one for one in found if not isinstance(one, Evaluation)]
    if wrong:
        raise ConfigurationError(
            f"suspects: runs: found a {type(wrong[0]).__name__}; expected evaluations, as rl.load_evaluation opens them"
        )
    names = map(str, runs) if isinstance(runs, Mapping) else distinct_names(given, given)
    return dict(zip(names, given, strict=True))


def suspects_view(found: SuspectsRecord) -> Document:
    """Return what is shown of suspects."""
    shown = found.suspects[:_SHOWN]
    more = len(found.suspects) - len(shown)
    sections = [Section("How to read this", (_EXPLAINED,))]
    if shown[_FIRST:]:
        last = (f"… and {more:,} more, in to_frame() and --json.",) if more else ()
        rest = Section("Further suspects", last, (_table(shown[_FIRST:], "Further"),), detail=Detail.DETAILS)
        sections.append(rest)
    share, facts, copies = percent_text(found.most_wrong), counted(found.facts, "fact"), counted(found.copies, "fact")
    return Document(
        f"{found.dataset}: suspected labels",
        f"At most about {share} of {facts} have labels as wrong as those of another question would be; {copies} "
        f"{'has' if found.copies == 1 else 'have'} a copy that nobody labelled.",
        _table(shown[:_FIRST], "The strongest evidence first"),
        (),
        sections=tuple(sections),
        printed=Detail.DETAILS,
    )


_EXPLAINED = (
    "Look at each: a hard question looks like a wrong label. A difference of systems that is smaller than the share "
    f"of wrong labels may come from the labels. copy: {SUSPECT_KINDS['copy']}; document: {SUSPECT_KINDS['document']}; "
    f"passage: {SUSPECT_KINDS['passage']}."
)


def _table(shown: tuple[Suspect, ...], caption: str) -> Table:
    rows = tuple(
        row_of(
            (
                one.query_id,
                f"{one.fact + 1}",
                one.kind,
                number_text(one.evidence, 2),
                excerpt(one.text, _LONGEST),
                f"{one.other_doc}: {excerpt(one.other_text, _LONGEST)}",
            )
        )
        for one in shown
    )
    columns = ("query", "fact", "kind", "evidence", "label", "instead, or as well")
    return Table(caption, columns, rows, text_columns=(0, 2, 4, 5))


view_of.register(SuspectsRecord, whole(suspects_view))
