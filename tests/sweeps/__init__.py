"""Tests of `kibi.sweeps`."""
