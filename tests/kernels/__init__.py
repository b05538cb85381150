"""Tests of `kibi.kernels`."""
