"""Operators on windows of an image: convolutions, poolings, interpolation."""
