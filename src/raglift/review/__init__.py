"""A local page on which people judge pooled chunks, select passages and settle disagreements with a model."""
