"""Utilities that are independent of retrieval: text, files, progress, threads, retries, the cache."""
