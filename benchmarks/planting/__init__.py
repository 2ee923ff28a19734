"""Retrieval systems in which exactly one thing is wrong, for `planted_defects.py`."""
