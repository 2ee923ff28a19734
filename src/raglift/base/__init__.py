"""Tools that know nothing of retrieval: text, files, progress, threads, retries, the cache."""
