"""Questions that a language model writes about a corpus, with labels, and with what was thrown away and why."""

from raglift.judging.generating.engine import MOST_TRIES, estimate_generation, generate
from raglift.judging.generating.output import Generation
from raglift.judging.generating.passages import LEFT_OUT, SentenceChunker
from raglift.judging.generating.records import DIFFICULTIES, REASONS, StyleReport, ThrownAway
from raglift.judging.generating.styles import DEFAULT_STYLES, STYLES, Style, parse_styles
from raglift.judging.generating.terminal import print_generation
from raglift.judging.generating.typos import with_typos

__all__ = [
    "DEFAULT_STYLES",
    "DIFFICULTIES",
    "LEFT_OUT",
    "MOST_TRIES",
    "REASONS",
    "STYLES",
    "Generation",
    "SentenceChunker",
    "Style",
    "StyleReport",
    "ThrownAway",
    "estimate_generation",
    "generate",
    "parse_styles",
    "print_generation",
    "with_typos",
]
