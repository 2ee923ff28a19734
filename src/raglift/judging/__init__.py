"""What language models judge and write: graded relevance, usefulness, queries; and how far they are to be believed."""
