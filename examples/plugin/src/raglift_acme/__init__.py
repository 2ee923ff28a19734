"""An adapter and a metric for raglift."""
