"""Generic tables and sections as Markdown and notebook HTML."""
