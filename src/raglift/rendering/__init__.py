"""Reports as records, and what shows them: a notebook, and Markdown; pages and terminals are in `raglift.report`."""
