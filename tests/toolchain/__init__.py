"""Tests of `kibi.toolchain`."""
