"""Tests of `kibi.qemu`."""
