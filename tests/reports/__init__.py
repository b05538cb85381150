"""Tests of `kibi.reports`."""
