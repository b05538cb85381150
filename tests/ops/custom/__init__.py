"""Tests of `kibi.ops.custom`."""
