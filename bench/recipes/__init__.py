"""Recipes of the community, read as they are and checked."""
