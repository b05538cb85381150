"""Tests of `kibi.clusters`."""
