"""Kernels on NumPy, by family. Each computes what the C kernel of its name computes, from the same parameters and pointers."""
