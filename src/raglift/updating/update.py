"""Labels of one version of the documents are looked for in the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import raglift.updating.view  # noqa: F401 — makes the view of an update known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.types.dataset import Dataset
    from raglift.types.documents import Document
    from raglift.updating.records import LabelUpdate


def update_labels(dataset: Dataset, documents: Sequence[Document]) -> LabelUpdate:
    """Return what became of each label in another version of the documents."""
    raise NotImplementedError
