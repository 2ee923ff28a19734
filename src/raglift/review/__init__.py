"""People judge what systems returned: a page on this machine, and the file of labels behind it."""

from raglift.review.reviewing import open_review

__all__ = ["open_review"]
