"""Retrievers as text: `dense`, `bm25`, `hybrid`, `hybrid(dense=0.7,bm25=0.3)`."""

from __future__ import annotations

import difflib
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.errors import ConfigurationError
from raglift.printable import short_repr

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["RETRIEVERS", "RRF_CONSTANT", "RetrieverSpec", "checked_constant", "checked_weights", "parse_retriever"]

RETRIEVERS = ("dense", "bm25", "hybrid")
"""The kinds of retrievers that raglift brings itself."""

RRF_CONSTANT = 60
"""The constant of reciprocal rank fusion in Cormack et al. (2009)."""

_PARTS = ("dense", "bm25")
_GRAMMAR = "dense, bm25, hybrid, or hybrid with weights, as hybrid(dense=0.7,bm25=0.3)"
_FORM = re.compile(r"(?P<kind>[^()]*?)\s*(?:\((?P<settings>[^()]*)\))?")


@dataclass(frozen=True)
class RetrieverSpec:
    """Which of raglift's retrievers, and how a hybrid one fuses its parts.

    Its text is its identity: `parse_retriever(str(spec)) == spec`.

    Raises:
        ConfigurationError: an unknown kind; a weight that is not above 0; a constant that is not 0 or more; or either
            for a retriever that has none.
    """

    kind: str = "dense"
    """One of `RETRIEVERS`."""
    weights: tuple[float, float] = (1.0, 1.0)
    """Of a hybrid's dense and its BM25 part."""
    constant: int = RRF_CONSTANT
    """What is added to each rank in a fusion: the larger, the less the first ranks stand out."""

    def __post_init__(self) -> None:
        if self.kind not in RETRIEVERS:
            near = difflib.get_close_matches(self.kind, RETRIEVERS, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise ConfigurationError(
                f"retriever: found {short_repr(self.kind)}{hint}; expected one of {', '.join(RETRIEVERS)}"
            )
        object.__setattr__(self, "weights", checked_weights(self.weights, len(_PARTS)))
        checked_constant(self.constant)
        if self.kind != "hybrid" and (self.weights, self.constant) != ((1.0, 1.0), RRF_CONSTANT):
            raise ConfigurationError(
                f"retriever: found weights for {short_repr(self.kind)}; expected them with 'hybrid' alone"
            )

    @property
    def needs_embedding(self) -> bool:
        """Whether an embedding model takes part."""
        return self.kind != "bm25"

    def __str__(self) -> str:
        settings = []
        if self.weights != (1.0, 1.0):
            settings += [f"{part}={_plain(weight)}" for part, weight in zip(_PARTS, self.weights, strict=True)]
        if self.constant != RRF_CONSTANT:
            settings.append(f"constant={self.constant}")
        return self.kind + (f"({','.join(settings)})" if settings else "")


def parse_retriever(text: str) -> RetrieverSpec:
    """Read a retriever from its text form; a weight that is left out is 1.

    Raises:
        ConfigurationError: the text does not have this form, or names something that there is not.
    """
    form = _FORM.fullmatch(text.strip())
    if form is None:
        raise ConfigurationError(f"retriever: found {short_repr(text)}; expected {_GRAMMAR}")
    settings: dict[str, float] = {}
    for setting in filter(None, (part.strip() for part in (form["settings"] or "").split(","))):
        name, _, number = (piece.strip() for piece in setting.partition("="))
        value = _number(number)
        if name not in (*_PARTS, "constant") or name in settings or value is None:
            raise ConfigurationError(
                f"retriever: found the setting {short_repr(setting)}; expected {_GRAMMAR}, each setting once"
            )
        settings[name] = value
    constant = settings.pop("constant", RRF_CONSTANT)
    weights = (settings.get("dense", 1.0), settings.get("bm25", 1.0))
    return RetrieverSpec(form["kind"], weights, int(constant) if constant == int(constant) else constant)  # type: ignore[arg-type]


def _number(text: str) -> float | None:
    """Return a finite number, or None."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def checked_weights(weights: Sequence[float], parts: int) -> tuple[float, ...]:
    """Return the weights of a fusion.

    Raises:
        ConfigurationError: not one for each part, or one that is not a finite number above 0.
    """
    given = tuple(weights) if isinstance(weights, (list, tuple)) else ()
    numbers = [each for each in given if isinstance(each, (int, float)) and not isinstance(each, bool)]
    usable = [float(each) for each in numbers if 0 < each < math.inf]
    if len(usable) != parts or len(given) != parts:
        raise ConfigurationError(
            f"fusion weights: found {short_repr(weights)}; expected {parts} numbers above 0, one for each retriever"
        )
    return tuple(usable)


def checked_constant(constant: object) -> int:
    """Return the constant of a fusion.

    Raises:
        ConfigurationError: it is not an integer of 0 or more.
    """
    if isinstance(constant, bool) or not isinstance(constant, int) or constant < 0:
        raise ConfigurationError(f"fusion constant: found {short_repr(constant)}; expected an integer, 0 or more")
    return constant


def _plain(weight: float) -> str:
    """Return a number as short as it can be read back exactly."""
    return repr(weight).removesuffix(".0")
