"""Operators that normalize vectors."""
