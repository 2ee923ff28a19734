"""Presentation of results."""
