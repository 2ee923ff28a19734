"""Spans from files: OTLP, and what Phoenix, MLflow, Langfuse and LangSmith export."""
