"""The tutorial's assistant: ask a corpus, see what was found before and after reranking, read a grounded answer."""

from __future__ import annotations

from raglift.assistant.engine import Assistant
from raglift.assistant.records import Answer, Citation, StageHits, Turn

__all__ = ["Answer", "Assistant", "Citation", "StageHits", "Turn"]
