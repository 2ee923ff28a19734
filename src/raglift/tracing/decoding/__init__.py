"""Spans from files: OTLP, and rows of other exports by a mapping."""
