"""Tests of `kibi.ir`."""
