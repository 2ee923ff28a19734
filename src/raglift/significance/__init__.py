"""Whether a difference between two systems on the same queries is real: paired tests, intervals, Holm, power.

Everything is paired by query, nothing reads a global random state, and every record names the methods it came from.
docs/statistics.md says in plain words what each number means.
"""

from raglift.significance.arguments import CONFIDENCE
from raglift.significance.holm import holm
from raglift.significance.intervals import Interval, difference_interval, mean_interval
from raglift.significance.paired import FEW_QUERIES, PairedDifference, paired_difference, paired_differences
from raglift.significance.permutation import TIED, SignFlipTest, sign_flip_test
from raglift.significance.power import detectable_difference

__all__ = [
    "CONFIDENCE",
    "FEW_QUERIES",
    "TIED",
    "Interval",
    "PairedDifference",
    "SignFlipTest",
    "detectable_difference",
    "difference_interval",
    "holm",
    "mean_interval",
    "paired_difference",
    "paired_differences",
    "sign_flip_test",
]
