"""Graphs as text, and text as graphs.

    graph "sine" from "sine.tflite" (%0) -> (%3) {
      %0 "x": s8[1, 1] (scale 0.024, zero -128)
      %1 "weights": s8[16, 1] (scale 0.01, zero 0) = [12, -7, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 127]
      %3 "y": s8[1, 16] (scale 0.03, zero 4) = FULLY_CONNECTED #0 (input %0, filter %1) {activation RELU}
    }

A line is a tensor, or a node with the tensors that it makes: `%index "name": type[shape] (quantization) properties = elements`, or
`… = OPERATOR #number (operand %index, …) {attribute value, …}`. The number is that of the operator in the model file. After the
graph's name come its inputs and outputs. Attributes that have their default are left out, and so is `(…)` of a tensor without
quantization. Graphs inside of operators come first, as `@0 = graph …`, and attributes name them.

Elements of a constant are a list where they are few, else `base64` of the bytes, little-endian. Text that is only read by people
may leave them out: it then has `digest "…"` instead, the first digits of their SHA-256, and cannot be parsed.
"""

from kibi.ir.text.parsing import parse_graph
from kibi.ir.text.printing import graph_text, node_text

__all__ = ["graph_text", "node_text", "parse_graph"]
