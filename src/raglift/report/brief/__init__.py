"""Short reports: what was found, in a table or two, as Markdown and notebooks show it."""
