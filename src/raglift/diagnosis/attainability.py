"""Which facts the chunks of an index allow at all."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from raglift.matching import PassageMatch, Text, match_passage
from raglift.matching.coverage import is_enough

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from raglift.matching import MatchRule
    from raglift.records import Inventory, Passage, Query

__all__ = ["attainable_facts", "serves"]


def serves(inventory: Inventory, rule: MatchRule) -> bool:
    """Whether an inventory has every chunk of the index that a rule could match to a passage."""
    if rule.mode == "fuzzy" or rule.minimum_length < inventory.minimum_length:
        return False
    return rule.unicode_folding == inventory.unicode_folding


def attainable_facts(
    queries: Sequence[Query], inventory: Inventory | None, rule: MatchRule
) -> NDArray[np.bool_] | None:
    """Return, for each fact of the labelled queries, whether all chunks together satisfy it.

    None where that is not known: the chunks are not, or the rule matches what the inventory did not look for (it is
    fuzzy, or folds texts in another way, or lets shorter chunks match).

    Args:
        queries: the labels.
        inventory: the chunks that touch a passage.
        rule: what counts as a match.
    """
    if inventory is None or not serves(inventory, rule):
        return None
    facts = [fact for query in queries if query.is_labelled for fact in query.facts]
    text = Text(rule)
    pieces: dict[tuple[int, int], list[PassageMatch]] = defaultdict(list)
    for _, fact, alternative, number in inventory.touches:
        piece = match_passage(inventory.touching[number], facts[fact].passages[alternative], rule, text)
        if piece is not None:
            pieces[fact, alternative].append(piece)
    attainable = np.zeros(len(facts), dtype=np.bool_)
    for (fact, alternative), found in pieces.items():
        attainable[fact] |= _satisfied(facts[fact].passages[alternative], found, rule, text)
    return attainable


def _satisfied(passage: Passage, pieces: Iterable[PassageMatch], rule: MatchRule, text: Text) -> bool:
    if passage.text is None or not rule.by_coverage:
        return True
    return is_enough([(piece.normalized_start, piece.normalized_end) for piece in pieces], text(passage.text), rule)
