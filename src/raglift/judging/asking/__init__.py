"""Many prompts to one model: each distinct one once, cached, a few at a time, within a limit of cost."""
