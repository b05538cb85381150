"""Kibi's tests; a package, so that tests can import `tests.support`."""
