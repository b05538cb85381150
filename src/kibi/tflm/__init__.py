"""The oracle: TensorFlow Lite Micro's own Python build, run beside Kibi to learn which bits are right."""

from kibi.tflm.oracle import Oracle, OracleRun, available

__all__ = ["Oracle", "OracleRun", "available"]
