"""Tests of `kibi.quant`."""
