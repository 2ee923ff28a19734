"""Relevance grades that a model gives to pooled chunks, and the labels that they become."""
