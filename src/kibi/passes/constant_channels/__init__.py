"""Finds channels that hold the same values for every input, proves it, and removes them."""
