"""The Signal library: windows, Fourier transforms, filter banks."""
