"""One self-contained HTML file that shows what was measured."""
