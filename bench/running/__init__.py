"""A run from claimed to ended: its engine, its measuring, its end."""
