"""The places of buffers in an arena."""
