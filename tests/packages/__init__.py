"""Tests of `kibi.packages`."""
