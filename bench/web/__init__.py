"""What the server answers beside the pages."""
