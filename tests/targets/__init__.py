"""Processors and boards as data."""
