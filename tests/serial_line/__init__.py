"""Boards over a serial line."""
