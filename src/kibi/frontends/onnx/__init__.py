"""Reader of ONNX files: they become the bytes of `.tflite` files.

`loading` checks a file, `folding` computes constants and makes frozen data of the rest, `fusing` joins nodes, `lowering` has one
function for each operator, which emits operations through `emitter`, and `draft` writes the file.
"""

from kibi.frontends.onnx.conversion import Conversion, convert

__all__ = ["Conversion", "convert"]
