"""Tests of `kibi.emulator`."""
