"""Interfaces to TensorFlow Lite Micro: the oracle, which is its own Python build, and plans inside model files."""

from kibi.tflm.oracle import Oracle, OracleRun, available

__all__ = ["Oracle", "OracleRun", "available"]
