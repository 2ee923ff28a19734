"""Applications built on the harness; the core does not import them."""
