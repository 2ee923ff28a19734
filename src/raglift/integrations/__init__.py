"""Adapters: from what users have to the stages of a system, and back."""
