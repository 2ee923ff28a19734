"""Each result as a document, from which the terminal, the page, notebooks and Markdown are made."""
