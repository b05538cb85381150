"""Regions: which memory of a board each buffer and each constant gets."""
