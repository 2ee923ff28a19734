"""Processes that are killed at any moment, and what is left of their work."""
