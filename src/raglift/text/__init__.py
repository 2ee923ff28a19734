"""Texts: normalized, in words and tokens, and found in other texts."""
