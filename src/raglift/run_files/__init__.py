"""Rankings in files: TREC runs, JSON Lines and Parquet read and scored; evaluations written for other tools."""
