"""The C library for programs by hand."""
