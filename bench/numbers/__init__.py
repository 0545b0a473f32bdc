"""From samples to numbers, and what may be said of them. Pure."""
