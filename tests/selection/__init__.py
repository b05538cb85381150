"""Tests of the choice of kernels."""
