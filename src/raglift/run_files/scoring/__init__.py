"""Rankings in files scored by labels in a file; values as trec_eval prints them."""

from raglift.run_files.scoring.files import FileScores, RunScores, score_files
from raglift.run_files.scoring.trec_lines import trec_eval_lines

__all__ = ["FileScores", "RunScores", "score_files", "trec_eval_lines"]
