"""What an evaluation offers to other tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from pathlib import Path

    from raglift.records.results import Evaluation
    from raglift.run_files import Export
    from raglift.run_files.exporting.peers import InIrMeasures, InRanx

__all__ = ["Exporting"]


class Exporting:
    """Adds to an evaluation the ways out of raglift; its labels leave as ids of chunks."""

    def to_trec(
        self,
        folder: str | Path,
        *,
        stage: str | None = None,
        all_stages: bool = False,
        subtopics: bool = False,
        escape_ids: bool = False,
        overwrite: bool = False,
    ) -> Export:
        """Write a TREC run and qrels, which trec_eval and most other tools read; what comes back says what to compare.

        JSON Lines and Parquet are written by `raglift.run_files.export`.

        Args:
            folder: where to, for `run.trec`, `qrels.txt` and `export.json`; its parents are made when missing.
            stage: the stage whose rankings are written; by default the last.
            all_stages: write the rankings of all stages, as `run.1-retrieve.trec`, `run.2-rerank.trec`, ….
            subtopics: also write which id stands for which fact, as diversity qrels (`qrels.subtopics.txt`).
            escape_ids: write white space and control characters of ids, which TREC files cannot hold, as in a URL.
            overwrite: replace an export that is already there; nothing else is ever replaced.

        Raises:
            ConfigurationError: no such stage.
            DatasetError: ids that TREC files cannot hold, all of them listed; or the folder is taken or cannot be
                written.
        """
        from raglift.run_files import export

        return export(
            cast("Evaluation", self),
            folder,
            stage=stage,
            all_stages=all_stages,
            subtopics=subtopics,
            escape_ids=escape_ids,
            overwrite=overwrite,
        )

    def to_ranx(self) -> InRanx:
        """Return the labels as a `ranx.Qrels`, and a `ranx.Run` for each stage: `qrels, runs = evaluation.to_ranx()`.

        Raises:
            ConfigurationError: no query has labels.
            MissingDependency: ranx is not installed.
        """
        from raglift.run_files.exporting.peers import to_ranx

        return to_ranx(cast("Evaluation", self))

    def to_ir_measures(self, *, subtopics: bool = False) -> InIrMeasures:
        """Return the labels as ir_measures' `Qrel` records, and each stage's hits as `ScoredDoc` records, in a pair.

        Args:
            subtopics: for measures of diversity: one label for each fact and id that stands for it.

        Raises:
            MissingDependency: ir_measures is not installed.
        """
        from raglift.run_files.exporting.peers import to_ir_measures

        return to_ir_measures(cast("Evaluation", self), subtopics=subtopics)
