"""The mock engine: an OpenAI-compatible server of known timing and known habits."""
