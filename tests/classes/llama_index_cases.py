"""LlamaIndex's classes: those that are run, and why others are not."""

from __future__ import annotations

from .case import Case, NotRun

CASES: tuple[Case, ...] = ()
NOT_RUN: tuple[NotRun, ...] = ()
