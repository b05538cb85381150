"""Tests of `kibi.ops`: NumPy reference, TFLM, and C on this machine, bit for bit."""
