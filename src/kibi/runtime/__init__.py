"""The Python runtime: executes a plan inside real arena bytes."""

from kibi.runtime.arena import Arena
from kibi.runtime.inputs import check_inputs, quantize_real, seeded_inputs
from kibi.runtime.interpreter import Interpreter

__all__ = ["Arena", "Interpreter", "check_inputs", "quantize_real", "seeded_inputs"]
