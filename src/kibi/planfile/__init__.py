"""Plan files: a planned model as bytes that a core in C runs in place, without code of its own."""
