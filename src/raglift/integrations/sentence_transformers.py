"""raglift's figures and intervals as an evaluator of sentence-transformers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sentence_transformers.base.evaluation import BaseEvaluator

from raglift.analysis.paired_statistics import interval_of
from raglift.errors import ConfigurationError
from raglift.retrieval.chunkers import RecursiveChunker
from raglift.running.evaluation import checked_dataset, evaluate
from raglift.stats.intervals import CONFIDENCE
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Ranking

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from raglift.results.evaluation import Evaluation

_METRICS = ("hit_rate", "precision", "recall", "rr@10", "ndcg@10", "ap@100")
_THEIR_NAMES = {"hit_rate": "accuracy", "rr": "mrr", "ap": "map"}


class SentenceTransformersEvaluator(BaseEvaluator):
    """An InformationRetrievalEvaluator with intervals, for `model.evaluate` and as the `evaluator` of a trainer.

    A call returns its figures by their names, as `cosine_ndcg@10`, and the ends of their 95% intervals, as
    `cosine_ndcg@10_low` and `cosine_ndcg@10_high`. It embeds all texts anew, and leaves the model in its mode.

    Args:
        queries: the text of each query by its id; or a labelled `Dataset`, or the name or path of one, alone.
        corpus: the text of each document by its id.
        relevant_docs: the ids of the documents that are relevant to each query; a query without any enters no mean.
        chunks: what of a dataset is searched; by default its documents in chunks of 1,000 characters.
        metrics: as for `evaluate`; by default those of an InformationRetrievalEvaluator.
        name: put before the names of the figures.
        batch_size: the most texts of a batch.
        show_progress_bar: whether to show progress.

    Raises:
        ConfigurationError: neither a dataset nor all three mappings, no documents, or no labels.
        DatasetError: an id or a text of the queries is none.
    """

    description = "Information Retrieval"

    def __init__(
        self,
        queries: Mapping[str, str] | Dataset | str | Path,
        corpus: Mapping[str, str] | None = None,
        relevant_docs: Mapping[str, Iterable[str]] | None = None,
        *,
        chunks: Iterable[Chunk] | None = None,
        metrics: Sequence[str] = _METRICS,
        name: str = "",
        batch_size: int = 32,
        show_progress_bar: bool = False,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        if isinstance(queries, Mapping) and corpus and relevant_docs and chunks is None:
            self.dataset = Dataset(tuple(_labelled(queries, relevant_docs)), name=name or "dataset")
            self.chunks = tuple(Chunk(text, id=str(key)) for key, text in corpus.items())
        elif not isinstance(queries, Mapping) and corpus is relevant_docs is None:
            self.dataset = checked_dataset(queries)
            self.chunks = tuple(RecursiveChunker().split(self.dataset.documents) if chunks is None else chunks)
        else:
            self.chunks = ()
        if not self.chunks:
            raise ConfigurationError(
                "SentenceTransformersEvaluator: expected queries, corpus and relevant_docs as mappings that are not "
                "empty, or a dataset that has documents, alone or with chunks"
            )
        if not any(query.is_labelled for query in self.dataset):
            raise ConfigurationError(
                "SentenceTransformersEvaluator: found no query with relevant documents; expected the ids of "
                "queries as keys of relevant_docs, each with the ids of documents"
            )
        self.metrics, self.name = metrics, name
        self._settings = {"batch_size": batch_size, "show_progress_bar": show_progress_bar}
        self.evaluation: Evaluation | None = None
        """The `Evaluation` of the last call: per-query figures, failures, `report`; two of them for `rl.compare`."""

    def __call__(
        self, model: SentenceTransformer, output_path: str | None = None, epoch: int = -1, steps: int = -1
    ) -> dict[str, float]:
        """Return the figures of a model; with an `output_path`, save the evaluation below it for `raglift compare`."""
        search = _Search(model, self.chunks, self._settings)
        modes = {module: module.training for module in model.modules()}  # embedding sets them all to evaluation
        try:
            self.evaluation = found = evaluate(
                search, self.dataset, metrics=self.metrics, chunks=self.chunks, on_error="raise", progress=False
            )
        finally:
            for module, training in modes.items():
                module.training = training
        if output_path is not None:
            names = ("raglift", self.name, "" if epoch == -1 else f"epoch_{epoch:g}_steps_{steps}")
            found.save(Path(output_path, "_".join(filter(None, names))), overwrite=True)
        means, ends = dict[str, float](), dict[str, float]()
        for metric in found.scores.metrics:
            name, at, depth = str(metric).partition("@")
            label = f"{model.similarity_fn_name}_{_THEIR_NAMES.get(name, name)}{at}{depth}"
            means[label] = found.scores.mean(found.after, metric)
            if interval := interval_of(metric, found.scores.of(found.after, metric), CONFIDENCE):
                ends |= {f"{label}_low": interval.low, f"{label}_high": interval.high}
        self.primary_metric = [*means, *(label for label in means if "_ndcg@" in label)][-1]
        figures: dict[str, float] = self.prefix_name_to_metrics(means, self.name)
        self.store_metrics_in_model_card_data(model, figures, epoch, steps)
        return figures | self.prefix_name_to_metrics(ends, self.name)


def _labelled(queries: Mapping[str, str], relevant_docs: Mapping[str, Iterable[str]]) -> Iterable[Query]:
    for key, text in queries.items():
        ids = relevant_docs.get(key, ())
        if isinstance(ids, str):
            raise ConfigurationError(f"relevant_docs: found the text {ids!r} for {key!r}; expected a set of ids")
        yield Query(str(key), text, tuple(Fact((Passage(chunk_id=doc),)) for doc in sorted(map(str, ids))))


@dataclass(frozen=True)
class _Search:
    model: SentenceTransformer
    chunks: Sequence[Chunk]
    settings: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{type(self.model).__name__} ({len(self.chunks):,} chunks)"

    def retrieve(self, queries: Sequence[str], k: int) -> list[Ranking]:
        # Equal similarities are in the order of ids; but chunks are embedded in their own, which decides the last bits
        order = sorted(range(len(self.chunks)), key=lambda place: self.chunks[place].id)
        texts = [chunk.text for chunk in self.chunks]
        vectors = self.model.encode_document(texts, convert_to_tensor=True, **self.settings)[order]
        rankings = []
        for question in self.model.encode_query(list(queries), convert_to_tensor=True, **self.settings):
            scores, places = self.model.similarity(question, vectors)[0].sort(descending=True, stable=True)
            hits = zip(places[:k].tolist(), scores[:k].tolist(), strict=True)
            rankings.append(Ranking.of((self.chunks[order[place]], score) for place, score in hits))
        return rankings
