"""Models that cannot read the texts: how it is measured, of which models, and what is said of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import raglift as rl
from raglift.analysis.warnings import vocabulary_warnings
from raglift.retrieval.bm25 import BM25Retriever
from raglift.retrieval.cross_encoder import CrossEncoderReranker
from raglift.retrieval.embedding import SentenceTransformerEmbedder, build_index
from raglift.retrieval.late_interaction import LateInteractionReranker
from raglift.retrieval.models import minilm_path
from raglift.retrieval.retrievers import DenseRetriever, HybridRetriever
from raglift.retrieval.vocabulary import vocabularies
from raglift.types.documents import Chunk
from raglift.utilities.cache import Cache

pytestmark = pytest.mark.slow

ENGLISH = "Every evening the keeper trims the lamp, and at dawn he draws the curtains, lest the sun light the oil."
SPELLED = "1.0 letters per token where about 4 are usual"
TEXTS = {
    "en": (ENGLISH, None),
    "de": (
        "Jeden Abend reinigt der Wärter die Lampe, und er zieht die Vorhänge zu, damit die Sonne nichts entzündet.",
        "the texts are in German, and all-MiniLM-L6-v2 was trained on English: a model for German may do better",
    ),
    "ru": (
        "Каждый вечер смотритель чистит лампу. На рассвете он задёргивает шторы, чтобы солнце не зажгло масло.",
        f"all-MiniLM-L6-v2 spells the texts (Russian) out, {SPELLED}: use a model for Russian, or BM25",
    ),
    "ar": (
        "كل مساء ينظف الحارس المصباح. وعند الفجر يسدل الستائر حتى لا تشعل الشمس الزيت.",
        f"all-MiniLM-L6-v2 spells the texts (Arabic) out, {SPELLED}: use a model for Arabic, or BM25",
    ),
    "zh": (
        "每天傍晚看守人修剪灯芯。黎明时他拉上窗帘，免得太阳点燃仓库里的油。",
        "all-MiniLM-L6-v2 does not know 70% of the tokens of the texts (Chinese): use a model for Chinese, or BM25",
    ),
}


@pytest.mark.parametrize("language", TEXTS)
def test_what_is_said_of_a_model_for_english(language: str) -> None:
    text, said = TEXTS[language]
    (known,) = vocabularies(SentenceTransformerEmbedder(), [text])
    assert (known.language, known.trained_on) == (language, ("en",))
    assert vocabulary_warnings([known, known]) == ([] if said is None else [said])


def test_models_are_found_in_retrievers_and_rerankers() -> None:
    index = build_index([Chunk(ENGLISH)], SentenceTransformerEmbedder(), cache=Cache(None))
    hybrid = HybridRetriever([DenseRetriever(index), BM25Retriever([Chunk(ENGLISH)])])
    for system in (LateInteractionReranker(), hybrid):
        assert [known.model for known in vocabularies(system, [ENGLISH])] == ["all-MiniLM-L6-v2"]
    assert vocabularies(SentenceTransformerEmbedder, [ENGLISH]) == []


@pytest.mark.parametrize(
    ("card", "languages"),
    [
        ("---\nlanguage: de\n---\n# A model", ("de",)),
        ("---\nlanguage:\n- en\n- no\n---\n", ("en", "no")),
        ("---\nlanguage:\n- multilingual\n- en\n---\n", ()),
        ("---\nlanguage: {\n---\n", ()),
        ("# A model for German", ()),
    ],
)
def test_languages_are_those_of_the_models_card(tmp_path: Path, card: str, languages: tuple[str, ...]) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    shutil.copy(minilm_path() / "tokenizer.json", folder)
    (folder / "README.md").write_text(card)
    (known,) = vocabularies(SentenceTransformerEmbedder(str(folder)), [ENGLISH])
    assert (known.model, known.trained_on) == ("model", languages)


def test_an_evaluation_warns_and_keeps_what_it_measured(tmp_path: Path) -> None:
    texts = ["每天傍晚看守人修剪灯芯。", "塔楼建于十九世纪初，从海上二十里外可见。"]
    index = build_index([Chunk(text) for text in texts], SentenceTransformerEmbedder(), cache=Cache(None))
    evaluation = rl.evaluate(DenseRetriever(index), rl.Dataset.from_dict({"谁修剪灯芯？": texts[:1]}))
    (known,) = evaluation.run.stages[0].vocabularies
    assert known.unknown > known.tokens / 2
    assert "does not know" in str(evaluation)
    assert "Next: use a model for Chinese, or BM25" in " ".join(str(evaluation).split())
    evaluation.save(tmp_path / "run")
    assert rl.load_evaluation(tmp_path / "run").run.stages == evaluation.run.stages


def test_a_model_given_as_an_object_is_found_by_its_tokenizer_and_one_that_is_not_here_is_not(
    tiny_cross_encoder: Path,
) -> None:
    from sentence_transformers import CrossEncoder

    (known,) = vocabularies(CrossEncoderReranker(CrossEncoder(str(tiny_cross_encoder))), [ENGLISH])
    assert known.model == tiny_cross_encoder.name
    for name in ("no-such/model", "no such:model"):
        assert vocabularies(CrossEncoderReranker(name), [ENGLISH]) == []
