"""Operators that reduce axes: sums, means, extremes, and running sums."""
