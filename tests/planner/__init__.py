"""Tests of `kibi.planner`."""
