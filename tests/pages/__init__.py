"""Tests of reports: the record, the page, and the page in a browser."""
