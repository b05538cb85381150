"""Runs plan files in Python: the records as frozen data, a machine that follows the order, and kernels on NumPy."""
