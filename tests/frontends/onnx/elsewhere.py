"""What ONNX Runtime computes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnxruntime
from onnx import numpy_helper

from kibi.frontends.onnx.graph import Numbers

onnxruntime.set_default_logger_severity(3)


def computed_elsewhere(model: Any, inputs: Mapping[str, Numbers]) -> list[Numbers]:
    """The outputs of a `ModelProto`, without ONNX Runtime's own rewrites of the graph."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [np.asarray(each) for each in session.run(None, dict(inputs))]


def last_scale(model: Any) -> float:
    """The scale of the last DequantizeLinear: one step of the output."""
    last = [node for node in model.graph.node if node.op_type == "DequantizeLinear"][-1]
    constants = {each.name: each for each in model.graph.initializer}
    return float(numpy_helper.to_array(constants[last.input[1]]))
