"""What the attributes of spans mean, by each convention."""
