"""Charts of results, made with altair."""
