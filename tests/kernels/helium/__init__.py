"""Tests of kernels for cores with Helium."""
