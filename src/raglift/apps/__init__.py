"""Applications of the harness: nothing in the core imports them."""
