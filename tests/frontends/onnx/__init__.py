"""Tests of `kibi.frontends.onnx`."""
