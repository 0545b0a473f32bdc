"""The truth benchmark: the meter against a server whose timing is known."""
