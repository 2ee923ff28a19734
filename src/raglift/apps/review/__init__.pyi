from .server import open_review as open_review
