"""What a model needs of a machine's memory, read from its files, and whether that is there."""
