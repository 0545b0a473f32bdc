"""All that is neither a page nor an engine. Nothing in here imports Streamlit."""
