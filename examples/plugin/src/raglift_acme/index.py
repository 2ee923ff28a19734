"""What stands for Acme's framework: an index whose method and results are like nobody else's."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Found:
    """One result."""

    text: str
    source: str
    points: int


class Index:
    """Paragraphs, found by the words that they share with a question."""

    def __init__(self, paragraphs: list[tuple[str, str]]) -> None:
        self._paragraphs = [(source, text, words_of(text)) for source, text in paragraphs]

    def find(self, question: str, most: int) -> list[Found]:
        """Return the paragraphs that share most words with a question, best first."""
        asked = words_of(question)
        found = [Found(text, source, len(asked & words)) for source, text, words in self._paragraphs]
        return sorted(found, key=lambda each: -each.points)[:most]


def words_of(text: str) -> set[str]:
    """Return the longer words of a text."""
    return {word for word in text.lower().split() if len(word) > 3}


def lighthouse() -> Index:
    """Return an index of the corpus `lighthouse`."""
    import raglift as rl

    documents = rl.load_dataset("lighthouse").documents
    return Index([(document.id, text) for document in documents for text in document.text.split("\n\n")])
