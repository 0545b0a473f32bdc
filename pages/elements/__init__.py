"""What several pages show. Streamlit elements only: values and words come from `bench`."""
