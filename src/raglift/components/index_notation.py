"""Vector indexes and dimensions as text: `hnsw(M=32,ef=64)`, `binary+rescore`, `faiss("IVF1024,PQ32")`, `pca(128)`."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from raglift.base.display import short_repr
from raglift.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


INDEXES = ("flat", "hnsw", "ivf", "int8", "binary", "binary+rescore", "pq", "faiss")
"""The kinds of vector indexes."""

_SETTINGS: Mapping[str, Mapping[str, int]] = {
    "flat": {},
    "hnsw": {"M": 32, "ef": 64, "construction": 40},
    "ivf": {"nlist": 1024, "nprobe": 8},
    "int8": {},
    "binary": {},
    "binary+rescore": {"factor": 4},
    "pq": {"m": 48, "bits": 8},
}
"""The settings of each kind, with their defaults."""
_MOST = 2**20
_MOST_BITS = 12
_MOST_LETTERS = 200
_GRAMMAR = (
    "flat, hnsw(M=32,ef=64,construction=40), ivf(nlist=1024,nprobe=8), int8, binary, binary+rescore(factor=4), "
    'pq(m=48,bits=8), or an index of FAISS\' own by its factory string, as faiss("IVF1024,PQ32",nprobe=8)'
)
_FORM = re.compile(r"(?P<kind>[^()]*?)\s*(?:\((?P<settings>.*)\))?", re.DOTALL)
_QUOTED = re.compile(r"\"([^\"]*)\"|'([^']*)'")


@dataclass(frozen=True)
class IndexSpec:
    """Which vector index a dense retriever searches.

    Its text is its identity: `parse_index(str(spec)) == spec`.

    Raises:
        ConfigurationError: an unknown kind, a setting that the kind does not have, or a value outside its range.
    """

    kind: str = "flat"
    """One of `INDEXES`."""
    settings: tuple[tuple[str, int], ...] = ()
    """Those that are not the defaults, in the order of the kind; of `faiss`, `nprobe` and `ef`."""
    factory: str | None = None
    """Of `faiss`: the factory string."""

    def __post_init__(self) -> None:
        if self.kind not in INDEXES:
            near = difflib.get_close_matches(str(self.kind).lower(), INDEXES, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise ConfigurationError(f"index: found {short_repr(self.kind)}{hint}; expected {_GRAMMAR}")
        if (self.kind == "faiss") != (self.factory is not None):
            found = "no factory string" if self.factory is None else f"a factory string with {self.kind!r}"
            raise ConfigurationError(f'index: found {found}; expected faiss("IVF1024,PQ32"), with a factory string')
        if self.factory is not None and not (self.factory.strip() and len(self.factory) <= _MOST_LETTERS):
            raise ConfigurationError(
                f"index: found the factory string {short_repr(self.factory)}; expected one of FAISS', of up to "
                f"{_MOST_LETTERS} characters, as IVF1024,PQ32"
            )
        known = {"nprobe": 0, "ef": 0} if self.kind == "faiss" else _SETTINGS[self.kind]
        given = dict(self.settings)
        for name, value in given.items():
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
                hint = f" (did you mean {near[0]!r}?)" if near else ""
                expected = f"one of {', '.join(known)}" if known else f"none: {self.kind} has no settings"
                raise ConfigurationError(f"index {self.kind}: found the setting {name!r}{hint}; expected {expected}")
            _check(self.kind, name, value)
        full = {**_SETTINGS.get(self.kind, {}), **given}
        if self.kind == "ivf" and full["nprobe"] > full["nlist"]:
            raise ConfigurationError(
                f"index ivf: found nprobe={full['nprobe']} of {full['nlist']} clusters; expected no more than there are"
            )
        kept = tuple((name, given[name]) for name, usual in known.items() if name in given and given[name] != usual)
        object.__setattr__(self, "settings", kept)

    def __getitem__(self, name: str) -> int:
        """Return a setting, its default where it was not given."""
        return {**_SETTINGS[self.kind], **dict(self.settings)}[name]

    def get(self, name: str) -> int | None:
        """Return a setting that was given; None for another."""
        return dict(self.settings).get(name)

    @property
    def is_exact(self) -> bool:
        """Whether it finds what exact search over the model's vectors finds."""
        return self.kind == "flat"

    def __str__(self) -> str:
        named = [f"{name}={value}" for name, value in self.settings]
        if self.factory is not None:
            named.insert(0, f'"{self.factory}"')
        return self.kind + (f"({','.join(named)})" if named else "")


def _check(kind: str, name: str, value: object) -> None:
    """Check the value of a setting.

    Raises:
        ConfigurationError: it is not an integer of its range.
    """
    least, most = 1, _MOST
    if name == "bits":
        most = _MOST_BITS
    elif name == "M":
        least = 2
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        found = value if isinstance(value, int) else short_repr(value)
        raise ConfigurationError(f"index {kind}: found {name}={found}; expected an integer from {least} to {most:,}")


def parse_index(text: str) -> IndexSpec:
    """Read an index from its text form; a setting that is left out is the default.

    Raises:
        ConfigurationError: the text does not have this form, or names something that there is not.
    """
    form = _FORM.fullmatch(text.strip())
    if form is None:
        raise ConfigurationError(f"index: found {short_repr(text)}; expected {_GRAMMAR}")
    kind, settings, factory = form["kind"].strip(), {}, None
    if kind.lower() in INDEXES:
        kind = kind.lower()
    for place, part in enumerate(split_settings(form["settings"] or "")):
        quoted = _QUOTED.fullmatch(part)
        if quoted and place == 0 and kind == "faiss":
            factory = quoted[1] or quoted[2] or ""
            continue
        name, separator, found = (piece.strip() for piece in part.partition("="))
        if not separator or name in settings:
            raise ConfigurationError(
                f"index {kind}: found the setting {short_repr(part)}; expected {_GRAMMAR}, each setting once"
            )
        settings[name] = _integer(kind, name, found)
    return IndexSpec(kind, tuple(settings.items()), factory)


def _integer(kind: str, name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ConfigurationError(f"index {kind}: found {name}={short_repr(text)}; expected an integer") from None


def split_settings(text: str) -> Iterator[str]:
    """Yield the settings of a text form: its parts between commas that are in no parentheses or quotation marks."""
    depth, quote, begin = 0, "", 0
    for place, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "()":
            depth += 1 if character == "(" else -1
        elif character == "," and depth == 0:
            if part := text[begin:place].strip():
                yield part
            begin = place + 1
    if part := text[begin:].strip():
        yield part


# Fewer dimensions: the first ones of a model that was trained for it, or the principal components.


_DIMENSIONS = re.compile(r"(?P<pca>pca\s*\(\s*)?(?P<number>[+-]?\d+)(?(pca)\s*\))", re.IGNORECASE)
_ALL = "all"


@dataclass(frozen=True)
class Dimensions:
    """To how many dimensions vectors are reduced, and how.

    Its text is its identity: `parse_dimensions(str(dimensions)) == dimensions`.

    Raises:
        ConfigurationError: a number that is not an integer of 1 or more.
    """

    number: int | None
    """How many are left; None for all that the model has."""
    pca: bool = False
    """Whether they are principal components of the chunks' vectors; else the first ones of the model are kept."""

    def __post_init__(self) -> None:
        if self.number is None and not self.pca:
            return
        if isinstance(self.number, bool) or not isinstance(self.number, int) or not 1 <= self.number <= _MOST:
            raise ConfigurationError(
                f"dimensions: found {short_repr(self.number)}; expected an integer, 1 or more, as 128 or pca(128), or "
                "all"
            )

    @property
    def title(self) -> str:
        """What it is called beside other parts of a system: `128 dimensions`, or `pca(128)`."""
        return str(self) if self.pca else f"{self} dimensions"

    def __str__(self) -> str:
        if self.number is None:
            return _ALL
        return f"pca({self.number})" if self.pca else str(self.number)


def parse_dimensions(given: Any) -> Dimensions:
    """Read a number of dimensions: an integer, `128`, `pca(128)` or `all`.

    Raises:
        ConfigurationError: anything else.
    """
    if isinstance(given, Dimensions):
        return given
    if isinstance(given, str) and given.strip().lower() == _ALL:
        return Dimensions(None)
    if isinstance(given, str):
        form = _DIMENSIONS.fullmatch(given.strip())
        if form is None:
            raise ConfigurationError(
                f"dimensions: found {short_repr(given)}; expected a number, as 128 (the first ones of a Matryoshka "
                "model), pca(128), or all"
            )
        return Dimensions(int(form["number"]), pca=form["pca"] is not None)
    if given is None:
        raise ConfigurationError("dimensions: found None; expected a number, as 128, pca(128), or all")
    return Dimensions(given)


def as_index(given: IndexSpec | str) -> IndexSpec:
    """Return an index given as a text or as itself.

    Raises:
        ConfigurationError: it is neither, or a text that names none.
    """
    if isinstance(given, IndexSpec):
        return given
    if not isinstance(given, str):
        raise ConfigurationError(f"index: found a {type(given).__name__}; expected {_GRAMMAR}")
    return parse_index(given)
