"""Products of matrices: Gemm and MatMul."""

from collections.abc import Mapping

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.onnx.draft import Tensor
from kibi.frontends.onnx.emitter import Emitter, Stored, plain_order
from kibi.frontends.onnx.graph import Node, Numbers
from kibi.frontends.onnx.lowering.entry import Lowering
from kibi.frontends.onnx.problems import Unsupported
from kibi.frontends.onnx.targets import are_integers, target
from kibi.frontends.onnx.weights import layer, real_constant


def _matmul(e: Emitter, node: Node) -> None:
    first, second = node.inputs[:2]
    if e.graph.values[second].is_constant and len(e.shape(second)) == 2 and e.shape(first):
        bias = real_constant(e, node.inputs[2]) if node.input(2) else None
        _dense(e, node, first, e.tensor(second, (1, 0)), bias)
        return
    _batched(e, node)


def _gemm(e: Emitter, node: Node) -> None:
    first, second, third = node.inputs[0], node.inputs[1], node.input(2)
    alpha, beta = node.real("alpha", 1.0), node.real("beta", 1.0)
    turned = node.integer("transB", 0)
    columns = e.shape(second)[0 if turned else 1]
    bias = real_constant(e, third) if third else None
    is_vector = not third or (bias is not None and bias.size == (bias.shape[-1] if bias.ndim else 1))
    if e.graph.values[second].is_constant and is_vector and not node.integer("transA", 0):
        weights = e.tensor(second, (0, 1) if turned else (1, 0))
        if alpha != 1.0:
            weights = e.constant((np.asarray(e.dequantized(weights).data) * np.float32(alpha)).astype(np.float32))
        vector = None if bias is None else np.broadcast_to(bias.reshape(-1) * np.float32(beta), (columns,))
        _dense(e, node, first, weights, vector)
        return
    product = _product(e, first, second, bool(node.integer("transA", 0)), bool(turned))
    if alpha != 1.0:
        product = e.like("MUL", [product, e.real_number(alpha)])
    if third:
        added = e.real(third)
        added = e.like("MUL", [added, e.real_number(beta)]) if beta != 1.0 else added
        product = e.like("ADD", [product, added], fused_activation_function=node.activation)
    elif node.activation != "NONE":
        product = _activated(e, product, node.activation)
    e.give(node.outputs[0], product)


def _activated(e: Emitter, tensor: Tensor, activation: str) -> Tensor:
    """A tensor f32 after an activation, as an operation."""
    zero = e.real_number(0.0)
    return e.like("ADD", [tensor, zero], fused_activation_function=activation)


def _dense(e: Emitter, node: Node, source: str, weights: Tensor, bias: Numbers | None) -> None:
    """FULLY_CONNECTED: weights `[O, K]` constant, the input's last axis has K elements."""
    stored = e.stored(source)
    depth = weights.shape[1]
    if stored.scramble is not None:
        places = stored.scramble.places()
        weights = e.constant(np.asarray(weights.data)[:, places], weights.quantization)
        x = stored.tensor
    else:
        x, stored = _ready(e, stored)
    parts = layer(e, node, x, weights, bias)
    order = stored.order if stored.scramble is None else plain_order(len(x.shape))
    shape = (*x.shape[:-1], weights.shape[0])
    keeps = len(shape) != 2
    tensor = e.add(
        "FULLY_CONNECTED",
        [parts.input, parts.filter, parts.bias],
        shape if x.shape[:-1] else (1, *shape),
        parts.dtype,
        parts.quantization,
        fused_activation_function=node.activation,
        keep_num_dims=keeps and len(x.shape) > 1,
    )
    if parts.input.shape[-1] != depth:
        raise Unsupported(
            f"its input has {parts.input.shape[-1]} elements, its weights {depth}", "Export the model again"
        )
    e.give(node.outputs[0], e.reshaped(tensor, shape), order)


def _ready(e: Emitter, stored: Stored) -> tuple[Tensor, Stored]:
    """A tensor whose last axis is the value's last, and its order."""
    last = len(stored.order) - 1
    if stored.order[-1] != last:
        order = (*(axis for axis in stored.order if axis != last), last)
        # The other axes stay as they are where that is all the same.
        stored = Stored(e.reordered(stored, order), order)
    return stored.tensor, stored


def _batched(e: Emitter, node: Node) -> None:
    first, second = node.inputs[:2]
    shapes = [e.shape(first), e.shape(second)]
    tensors, swapped = zip(*(_matrix(e, name) for name in (first, second)), strict=True)
    x, y = tensors
    if len(shapes[0]) == 1:
        x = e.reshaped(x, (1, *x.shape))
    if len(shapes[1]) == 1:
        y = e.reshaped(y, (*y.shape, 1))
    x, y = _equal_ranks(e, x, y)
    product = _emitted(e, node, x, y, *swapped)
    e.give(node.outputs[0], e.reshaped(product, e.shape(node.outputs[0])))


def _product(e: Emitter, first: str, second: str, turn_x: bool, turn_y: bool) -> Tensor:
    x, y = e.real(first), e.real(second)
    rows = x.shape[1 if turn_x else 0]
    columns = y.shape[0 if turn_y else 1]
    return e.add("BATCH_MATMUL", [x, y], (rows, columns), DType.F32, adj_x=turn_x, adj_y=turn_y)


def _matrix(e: Emitter, name: str) -> tuple[Tensor, bool]:
    """A value's tensor, and true if its last two axes are in the other order."""
    stored = e.unscrambled(e.stored(name))
    rank = len(stored.order)
    plain = plain_order(rank)
    if rank >= 2 and stored.order == (*plain[:-2], plain[-1], plain[-2]) and stored.tensor.data is None:
        return stored.tensor, True
    return e.tensor(name), False


def _equal_ranks(e: Emitter, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    rank = max(len(x.shape), len(y.shape))
    widened = [e.reshaped(each, (1,) * (rank - len(each.shape)) + each.shape) for each in (x, y)]
    return widened[0], widened[1]


def _emitted(e: Emitter, node: Node, x: Tensor, y: Tensor, turn_x: bool, turn_y: bool) -> Tensor:
    goal = target(e, node.outputs[0])
    if not are_integers([x, y], goal):
        x, y, goal = e.dequantized(x), e.dequantized(y), None
    rows, columns = x.shape[-1 if turn_x else -2], y.shape[-2 if turn_y else -1]
    batches = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    kind = DType.F32 if goal is None else goal.dtype
    if x.dtype is not kind or y.dtype is not kind:
        raise Unsupported(f"products of {x.dtype} are not supported", "Export the model with float32, or quantize it")
    return e.add("BATCH_MATMUL", [x, y], (*batches, rows, columns), kind, goal, adj_x=turn_x, adj_y=turn_y)


LAYERS: Mapping[str, Lowering] = {
    "Gemm": Lowering(_gemm, ("FULLY_CONNECTED", "BATCH_MATMUL", "MUL", "ADD"), True),
    "MatMul": Lowering(_matmul, ("FULLY_CONNECTED", "BATCH_MATMUL"), True, "Elements are float32 or quantized."),
}
"""By ONNX's name of the operator."""
