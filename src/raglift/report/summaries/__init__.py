"""Summaries of results, for Markdown and notebooks."""
