"""A distribution with one custom operator, which its entry point names."""
