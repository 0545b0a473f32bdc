"""The meter: one streamed request and many at once, each byte with its time."""
