"""Short reports as GitHub's Markdown, for a pull request."""

from raglift.report.markdown.rendering import markdown_of

__all__ = ["markdown_of"]
