"""Tests of `kibi.frontends`."""
