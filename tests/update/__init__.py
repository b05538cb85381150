"""Tests of updates on the device: in flash that is simulated, whose power is cut."""
