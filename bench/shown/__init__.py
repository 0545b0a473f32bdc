"""What pages show, as values in one language, without a page."""
