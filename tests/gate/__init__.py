"""The gate of `kibi check`."""
