"""Streamlit scripts, one a page. Only `elements` is imported, by the pages and the server."""
