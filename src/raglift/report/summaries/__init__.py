"""Short forms of results, for Markdown and notebooks."""
