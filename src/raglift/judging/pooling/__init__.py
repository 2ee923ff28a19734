"""What is judged: the first hits of several systems, together, and what labels say of them already."""
