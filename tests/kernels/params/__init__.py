"""Tests of `kibi.kernels.params`."""
