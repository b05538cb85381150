"""Tests of kernels of convolutions, over all channels and depthwise."""
