"""Why LangChain's other classes are not run."""

from __future__ import annotations

from .case import NotRun

NOT_RUN: tuple[NotRun, ...] = ()
