"""Tests of `kibi.frontends.tflite`."""
