"""Earlier names of commands and options: each still works, and neither help nor completion lists it."""

from __future__ import annotations

COMMANDS: dict[str, tuple[str, ...]] = {
    "audit": ("labels", "check"),
    "convert": ("labels", "convert"),
    "relabel": ("labels", "anchor"),
    "review": ("labels", "review"),
    "grade": ("labels", "grade"),
    "generate": ("labels", "generate"),
    "score": ("files", "score"),
    "export": ("files", "export"),
    "rescore": ("files", "rescore"),
}
"""An earlier name of a command, and the words that stand for it now."""

OPTIONS = {
    "evaluate": {"--save": "--output", "--ks": "-k"},
    "sweep": {"--out": "--output"},
    "check": {"--ks": "-k"},
    "review": {"--depth": "-k"},
    "grade": {"--depth": "-k"},
    "generate": {"--report": "--output"},
    "score": {"--form": "--from"},
    "rescore": {"--save": "--output", "--ks": "-k"},
}
"""For each command, the earlier spellings of its options and those of now."""
