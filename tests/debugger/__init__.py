"""Tests of boards through GDB servers."""
