"""Tables and sections as Markdown and notebook HTML, whatever they are about."""
