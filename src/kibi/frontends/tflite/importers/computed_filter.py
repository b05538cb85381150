"""FULLY_CONNECTED of floats whose filter or bias is computed: a product of matrices, and a sum.

The kernels of the operator itself take constants alone. A product of two matrices adds up the same products in the same order,
and ADD clamps as the layer does, to the finite numbers where there is no activation.

Source: TFLM `kernels/internal/reference/fully_connected.h`, `batch_matmul.h` and `add.h`.
"""

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.tflite.importers.base import OptionsError, TensorTable
from kibi.ir import Node, Operator, Tensor, TensorType
from kibi.ops import Add, BatchMatmul, FullyConnected, Reshape


def product_and_sum(
    op: Operator, inputs: tuple[int | None, ...], outputs: tuple[int, ...], source: int, table: TensorTable
) -> tuple[Node, ...]:
    """Returns the nodes that replace a float layer whose filter `[O, K]` or bias `[O]` is computed; none for other layers.

    Args:
        op: the layer.
        inputs: tensor indices; None for an optional input that is left out.
        outputs: tensor indices.
        source: the operator's index in the file.
        table: the graph's tensors, to which those in between are added.

    Raises:
        OptionsError: the shapes do not fit one another.
    """
    given = [table.tensors[index] for index in inputs if index is not None]
    every = [*given, *(table.tensors[index] for index in outputs)]
    is_computed = any(not tensor.is_constant for tensor in given[1:])
    is_float = all(tensor.type.dtype is DType.F32 for tensor in every)
    if not isinstance(op, FullyConnected) or len(outputs) != 1 or not is_computed or not is_float:
        return ()
    data, weights, bias = (*inputs, None)[:3]
    if len(inputs) > 3 or data is None or weights is None or len(table.tensors[weights].type.shape) != 2:
        return ()
    return _nodes(op, (data, weights, bias), outputs[0], source, table)


def _nodes(
    op: FullyConnected, inputs: tuple[int, int, int | None], output: int, source: int, table: TensorTable
) -> tuple[Node, ...]:
    data, weights, bias = inputs
    made = table.tensors[output]
    channels, depth = table.tensors[weights].type.shape
    flat = made.type.elements // channels, channels
    _check(table.tensors[data], table.tensors[weights], None if bias is None else table.tensors[bias], made)
    nodes: list[Node] = []

    def shaped(index: int, shape: tuple[int, ...]) -> int:
        """The tensor in that shape."""
        tensor = table.tensors[index]
        if tensor.type.shape == shape:
            return index
        nodes.append(Node(Reshape(), (index,), (table.add(tensor.name, TensorType(shape, DType.F32)),), source))
        return nodes[-1].outputs[0]

    added = table.constant("no bias", np.zeros(1, np.float32)) if bias is None else shaped(bias, (channels,))
    factors = shaped(data, (flat[0], depth)), weights
    products = table.add(f"{made.name}, products", TensorType(flat, DType.F32))
    nodes.append(Node(BatchMatmul(adj_y=True), factors, (products,), source))
    if made.type.shape == flat:
        return (*nodes, Node(Add(activation=op.activation), (products, added), (output,), source))
    sums = table.add(f"{made.name}, sums", TensorType(flat, DType.F32))
    nodes.append(Node(Add(activation=op.activation), (products, added), (sums,), source))
    return (*nodes, Node(Reshape(), (sums,), (output,), source))


def _check(data: Tensor, weights: Tensor, bias: Tensor | None, output: Tensor) -> None:
    """Shapes that fit: one vector for each row of the output, one element of the bias for each of its columns."""
    channels, depth = weights.type.shape
    vectors = data.type.elements // depth
    is_whole = data.type.elements % depth == 0 and output.type.elements == vectors * channels
    if not is_whole or output.type.shape[-1:] != (channels,):
        shapes = ", ".join(f"{list(each.type.shape)}" for each in (data, weights, output))
        what = f"input, filter and output of shapes {shapes} do not fit one another"
        raise OptionsError(what, "Export the model again; the file is damaged")
    if bias is not None and bias.type.elements != channels:
        what = f"bias has shape {list(bias.type.shape)}, but {channels} elements are required"
        raise OptionsError(what, "Export the model again; the file is damaged")
