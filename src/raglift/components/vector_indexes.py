"""Vector indexes that approximate exact search, or hold vectors in fewer bytes: built and searched through FAISS.

All of them rank by the inner product of unit vectors. What an index found is compared with exact search twice: over the
vectors as it holds them (`held_vectors`), and over the model's own.
"""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.base.display import one_line
from raglift.components.exact_search import exact_search, faiss_module, first_of
from raglift.errors import ConfigurationError, MissingDependency

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from raglift.components.index_notation import Dimensions, IndexSpec

    Vectors = NDArray[np.float32]
    Found = tuple[NDArray[np.float32], NDArray[np.int64]]


NOTHING = -1
"""The number that stands for no chunk: an index may find fewer than it was asked for."""
FEWEST_TO_TRAIN = 39
"""Vectors for each cluster: with fewer, FAISS warns that clusters are trained on too little."""
_AT_ONCE = 100_000
_RESCORED_AT_ONCE = 50_000
"""So many vectors are compared with their queries at a time: 50 MB of 256 dimensions."""
_PLACE = re.compile(r".*\.(?:cpp|h):\d+: ?", re.DOTALL)
"""What FAISS says of the place in its source, before what is wrong."""


# Fewer dimensions.


@dataclass(frozen=True, eq=False)
class Reduction:
    """Makes vectors shorter."""

    project: Callable[[Vectors], Vectors]
    """Returns unit vectors of fewer dimensions."""

    @classmethod
    def of(cls, dimensions: Dimensions, vectors: Vectors, model: str) -> Reduction:
        """Return what reduces the vectors of chunks, and of queries alike.

        With `pca`, the components are the eigenvectors of the largest eigenvalues of Σ v vᵀ over the chunks' vectors.
        The mean is not subtracted, because that would change inner products; in all dimensions nothing would change.
        Both ways the vectors that are left are brought to unit length.

        Args:
            dimensions: how many are left, and which.
            vectors: of the chunks.
            model: what made them, for messages.

        Raises:
            ConfigurationError: the model has fewer dimensions, or for principal components there are fewer chunks.
        """
        there = vectors.shape[1]
        if dimensions.number is None:
            return cls(lambda given: given)
        _check_dimensions(dimensions, len(vectors), there, model)
        if not dimensions.pca:
            first = dimensions.number
            return cls(lambda given: _unit(given[:, :first]))
        products = np.zeros((there, there))
        for begin in range(0, len(vectors), _AT_ONCE):
            part = vectors[begin : begin + _AT_ONCE].astype(np.float64)
            products += part.T @ part
        _, components = np.linalg.eigh(products)
        matrix = components[:, ::-1][:, : dimensions.number].astype(np.float32)
        return cls(lambda given: _unit(given @ matrix))


def _unit(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.ascontiguousarray(vectors / np.where(lengths == 0, 1, lengths), dtype=np.float32)


# Building and searching.


@dataclass(frozen=True, eq=False)
class VectorIndex:
    """Vectors in an index, which may be approximate."""

    spec: IndexSpec
    """Which index."""
    index: Any
    """A `faiss.Index`, or a `faiss.IndexBinaryFlat`."""
    vectors: Vectors
    """What was indexed."""
    seconds: float
    """Wall time of training and adding."""
    bytes: int
    """Size of the index as FAISS writes it; for `binary+rescore` with the vectors that it rescores by."""

    @property
    def is_exhaustive(self) -> bool:
        """Whether a search looks at every vector that it holds, so that nothing is lost but by compression."""
        return self.spec.kind in ("flat", "int8", "binary", "pq")

    def search(self, queries: Vectors, k: int, allowed: NDArray[np.int64] | None = None) -> Found:
        """Return scores and numbers of the best vectors, both of shape (queries, at most k); `NOTHING` where none is.

        Of equal scores the lower number comes first, as far as the index returned both.

        Args:
            queries: unit vectors.
            k: how many are asked for.
            allowed: the numbers that may be found; None for all. The index looks for the best of these.

        Raises:
            ConfigurationError: the index cannot be restricted to some of its vectors.
        """
        k = min(k, len(self.vectors) if allowed is None else len(allowed))
        if k == 0 or not len(queries):
            return np.zeros((len(queries), 0), dtype=np.float32), np.zeros((len(queries), 0), dtype=np.int64)
        if self.spec.kind.startswith("binary"):
            scores, numbers = self._binary(queries, k, allowed)
        elif allowed is not None and self.is_exhaustive:
            return exact_search(_Decompressed(self.index), queries, k, among=allowed)
        else:
            options = {} if allowed is None else {"params": _restricted(self.index, allowed)}
            try:
                scores, numbers = self.index.search(queries, k, **options)
            except RuntimeError as error:
                raise ConfigurationError(
                    f"index {self.spec}: cannot search among some of its vectors only, as a filter asks: "
                    f"{_reason(error)}; expected flat, hnsw, ivf, int8, pq or binary"
                ) from error
        scores = np.where(numbers == NOTHING, -np.inf, scores)
        return first_of(scores, numbers, k)

    def _binary(self, queries: Vectors, k: int, allowed: NDArray[np.int64] | None) -> Found:
        """Search by sign bits: 1 − 2 · (differing bits / all bits); with `rescore`, the best by the vectors."""
        bits = np.packbits(queries > 0, axis=1)
        rescores = self.spec.kind == "binary+rescore"
        wanted = min(k * self.spec["factor"], self.index.ntotal) if rescores else k
        if allowed is None:
            distances, numbers = self.index.search(bits, wanted)
        else:
            held = _faiss_codes(self.index)[allowed]
            found = [_least_different(held, one, wanted) for one in bits]
            distances, numbers = (np.stack(parts) for parts in zip(*found, strict=True))
            numbers = allowed[numbers]
        if not rescores:
            return (1 - 2 * distances / queries.shape[1]).astype(np.float32), numbers.astype(np.int64)
        at_once = max(_RESCORED_AT_ONCE // numbers.shape[1], 1)
        blocks = [slice(begin, begin + at_once) for begin in range(0, len(queries), at_once)]
        products = [np.einsum("qnd,qd->qn", self.vectors[numbers[block]], queries[block]) for block in blocks]
        return first_of(np.concatenate(products), numbers, k)

    def held_vectors(self) -> tuple[Vectors, Callable[[Vectors], Vectors]] | None:
        """Return the vectors as the index holds them, and what makes queries comparable with them.

        Exact search over these is what the index would find if it looked at all that it holds. None where that is what
        it does (`is_exhaustive`), and where it holds what it was given.

        Raises:
            ConfigurationError: FAISS cannot give back the vectors of such an index.
        """
        if self.spec.kind != "faiss":
            return None
        faiss = faiss_module()
        index, steps = faiss.downcast_index(self.index), []
        try:
            while isinstance(index, faiss.IndexPreTransform):
                steps += [faiss.downcast_VectorTransform(index.chain.at(place)) for place in range(index.chain.size())]
                index = faiss.downcast_index(index.index)
            vectors = index.reconstruct_n(0, index.ntotal)
        except RuntimeError as error:
            raise ConfigurationError(
                f"index {self.spec}: FAISS cannot give back its vectors: {_reason(error)}; expected an index whose "
                "vectors can be reconstructed, so that its search can be compared with an exact one"
            ) from error

        def prepared(queries: Vectors) -> Vectors:
            for step in steps:
                queries = step.apply(queries)
            return queries

        return vectors, prepared


def _restricted(index: Any, allowed: NDArray[np.int64]) -> Any:
    """Return the parameters with which an index looks for some of its vectors only, its other settings as they are."""
    faiss = faiss_module()
    index, selector = faiss.downcast_index(index), faiss.IDSelectorBatch(allowed)
    if isinstance(index, faiss.IndexPreTransform):
        return faiss.SearchParametersPreTransform(index_params=_restricted(index.index, allowed))
    if isinstance(index, faiss.IndexRefine):
        return faiss.IndexRefineSearchParameters(
            k_factor=index.k_factor, base_index_params=_restricted(index.base_index, allowed)
        )
    if isinstance(index, faiss.IndexHNSW):
        return faiss.SearchParametersHNSW(sel=selector, efSearch=index.hnsw.efSearch)
    if isinstance(index, faiss.IndexIVFPQ):
        return faiss.IVFPQSearchParameters(sel=selector, nprobe=index.nprobe)
    if isinstance(index, faiss.IndexIVF):
        return faiss.SearchParametersIVF(sel=selector, nprobe=index.nprobe)
    return faiss.SearchParameters(sel=selector)


class _Decompressed:
    """The vectors of an index of FAISS', decompressed when they are asked for by their numbers."""

    def __init__(self, index: Any) -> None:
        self._index = index

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def __getitem__(self, numbers: NDArray[np.int64]) -> Vectors:
        vectors: Vectors = self._index.reconstruct_batch(numbers)
        return vectors


def _least_different(
    held: NDArray[np.uint8], query: NDArray[np.uint8], most: int
) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """Return how many bits of a query differ in the codes that are the nearest to it, and their places."""
    distances = np.bitwise_count(held ^ query).sum(axis=1, dtype=np.int32)
    order = np.argsort(distances, kind="stable")[:most].copy()  # not a view of all places
    return distances[order], order


def _faiss_codes(index: Any) -> NDArray[np.uint8]:
    codes: NDArray[np.uint8] = faiss_module().vector_to_array(index.xb).reshape(index.ntotal, index.code_size)
    return codes


def build_vector_index(spec: IndexSpec, vectors: Vectors) -> VectorIndex:
    """Build an index. The same vectors give the same index: k-means has a seed, and a graph is built by one thread.

    Args:
        spec: which.
        vectors: unit vectors, at least one.

    Raises:
        ConfigurationError: FAISS refuses the index, there are more clusters than vectors, or segments do not divide the
            dimensions.
        MissingDependency: FAISS is not installed.
    """
    faiss = faiss_module()
    _check(spec, *vectors.shape)
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    started = time.perf_counter()
    try:
        index = _filled(faiss, spec, vectors)
    except RuntimeError as error:
        raise _refused(spec, len(vectors), vectors.shape[1], error) from error
    seconds = time.perf_counter() - started
    size = _bytes(faiss, index, is_binary=spec.kind.startswith("binary"))
    return VectorIndex(spec, index, vectors, seconds, size + (vectors.nbytes if spec.kind == "binary+rescore" else 0))


def require_buildable(
    spec: IndexSpec | None, dimensions: Dimensions | None, count: int, width: int, model: str
) -> None:
    """Check, before texts are embedded, what would be refused once their vectors are there.

    Args:
        spec: which index; None for exact search.
        dimensions: to how many dimensions vectors are reduced; None for all.
        count: how many chunks there will be.
        width: how many dimensions the model has.
        model: its name, for messages.

    Raises:
        ConfigurationError: as `build_vector_index` and `Reduction.of`.
        MissingDependency: FAISS is not installed.
    """
    if dimensions is not None:
        _check_dimensions(dimensions, count, width, model)
        width = dimensions.number or width
    if spec is None:
        return
    _check(spec, count, width)
    if spec.factory is not None:
        faiss = faiss_module()
        try:
            faiss.index_factory(width, spec.factory, faiss.METRIC_INNER_PRODUCT)
        except RuntimeError as error:
            raise _refused(spec, count, width, error) from error


def _refused(spec: IndexSpec, count: int, dimensions: int, error: RuntimeError) -> ConfigurationError:
    return ConfigurationError(
        f"index {spec}: FAISS refuses it for {count:,} vectors of {dimensions} dimensions: {_reason(error)}; expected "
        "what FAISS builds of them, as IVF256,PQ32 (its wiki: The index factory)"
    )


def _check_dimensions(dimensions: Dimensions, count: int, width: int, model: str) -> None:
    """Check that there are as many dimensions, and enough chunks for as many principal components.

    Raises:
        ConfigurationError: there are not.
    """
    if dimensions.number is None:
        return
    if dimensions.number > width:
        raise ConfigurationError(f"dimensions: found {dimensions}; expected at most {width}, as many as {model} has")
    if dimensions.pca and dimensions.number > count:
        raise ConfigurationError(
            f"dimensions: found {dimensions} for {count:,} chunks; expected no more components than chunks"
        )


def _check(spec: IndexSpec, count: int, dimensions: int) -> None:
    """Check what FAISS would refuse in words that say little.

    Raises:
        ConfigurationError: more clusters than vectors, or segments that do not divide the dimensions.
    """
    if spec.kind == "ivf" and spec["nlist"] > count:
        raise ConfigurationError(
            f"index {spec}: found nlist={spec['nlist']} clusters for {count:,} chunks; expected at most as many "
            f"clusters as chunks, better one for {FEWEST_TO_TRAIN} chunks or more: "
            f"nlist={max(count // FEWEST_TO_TRAIN, 1)}"
        )
    if spec.kind != "pq":
        return
    if dimensions % spec["m"]:
        fitting = [number for number in range(1, dimensions + 1) if dimensions % number == 0]
        near = sorted(sorted(fitting, key=lambda number: abs(number - spec["m"]))[:3])
        raise ConfigurationError(
            f"index {spec}: found m={spec['m']} segments for {dimensions} dimensions; expected a number that divides "
            f"them, as {', '.join(map(str, near))}"
        )
    if 2 ** spec["bits"] > count:
        raise ConfigurationError(
            f"index {spec}: found bits={spec['bits']}, which is {2 ** spec['bits']:,} centroids a segment, for "
            f"{count:,} chunks; expected no more centroids than chunks: bits={max(count.bit_length() - 1, 1)}"
        )


def _filled(faiss: Any, spec: IndexSpec, vectors: Vectors) -> Any:
    """Return an index of FAISS' with the vectors in it."""
    dimensions, metric = vectors.shape[1], faiss.METRIC_INNER_PRODUCT
    if spec.kind.startswith("binary"):
        binary = faiss.IndexBinaryFlat(-(-dimensions // 8) * 8)
        for begin in range(0, len(vectors), _AT_ONCE):
            binary.add(np.packbits(vectors[begin : begin + _AT_ONCE] > 0, axis=1))
        return binary
    if spec.kind == "flat":
        index = faiss.IndexFlatIP(dimensions)
    elif spec.kind == "hnsw":
        index = faiss.IndexHNSWFlat(dimensions, spec["M"], metric)
        index.hnsw.efConstruction, index.hnsw.efSearch = spec["construction"], spec["ef"]
    elif spec.kind == "ivf":
        index = faiss.index_factory(dimensions, f"IVF{spec['nlist']},Flat", metric)
        index.nprobe = spec["nprobe"]
    elif spec.kind == "int8":
        index = faiss.IndexScalarQuantizer(dimensions, faiss.ScalarQuantizer.QT_8bit, metric)
    elif spec.kind == "pq":
        index = faiss.IndexPQ(dimensions, spec["m"], spec["bits"], metric)
    else:
        index = faiss.index_factory(dimensions, spec.factory, metric)
        for name, called in (("nprobe", "nprobe"), ("ef", "efSearch")):
            if (value := spec.get(name)) is not None:
                faiss.ParameterSpace().set_index_parameter(index, called, value)
    _train_on_few(faiss, index)
    with one_thread():
        index.train(vectors)
        index.add(vectors)
    return index


def _train_on_few(faiss: Any, index: Any) -> None:
    """Keep FAISS from printing that clusters have few vectors each, which raglift says in a note."""
    index = faiss.downcast_index(index)
    while isinstance(index, faiss.IndexPreTransform):
        index = faiss.downcast_index(index.index)
    for part in (index, getattr(index, "pq", None)):
        if part is not None and hasattr(part, "cp"):
            part.cp.min_points_per_centroid = 1


@contextmanager
def one_thread() -> Iterator[None]:
    """Let FAISS and its linear algebra use one thread.

    Several make another graph each time, and in small clusterings they wait for each other longer than they compute.

    Raises:
        MissingDependency: threadpoolctl is not installed.
    """
    try:
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise MissingDependency("threadpoolctl", "local", "vector indexes") from None
    with threadpool_limits(limits=1):
        yield


def _bytes(faiss: Any, index: Any, *, is_binary: bool) -> int:
    """Return the size of an index as FAISS writes it, without keeping what is written."""
    size = 0

    def count(written: Any) -> int:
        nonlocal size
        size += len(written)
        return len(written)

    (faiss.write_index_binary if is_binary else faiss.write_index)(index, faiss.PyCallbackIOWriter(count, 2**20))
    return size


def _reason(error: RuntimeError) -> str:
    """Return what FAISS says, without the place in its source."""
    return one_line(_PLACE.sub("", str(error))).removeprefix("Error: ").strip().rstrip(".")
