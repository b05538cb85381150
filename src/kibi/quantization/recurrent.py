"""Layers with a memory: of integers, they have scales for their states, which no tensor of the graph shows.

Source: TFLM `micro/kernels/lstm_eval_common.cc`: cells are s16 with a power of two for a scale, the hidden state is the output;
and `micro/kernels/svdf_common.cc`: the state has the type of the weights over time, and the output's bounds are its activation.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil, log2

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import NodeView
from kibi.quantization.affine import Affine, Range
from kibi.quantization.calibration import Channels, calibrate
from kibi.quantization.layer import Layer
from kibi.quantization.network import Network
from kibi.quantization.variables import variables_of

LSTM = "UNIDIRECTIONAL_SEQUENCE_LSTM"
"""The schema's name."""
GATES, LSTM_INPUTS = 4, 24
"""Of an LSTM; TFLM wants all inputs, also those that are left out."""
INPUT_WEIGHTS, RECURRENT_WEIGHTS, BIASES = 1, 5, 12
"""The places of the first of four weights and biases among an LSTM's inputs."""
HIDDEN_STATE, CELL_STATE = 18, 19
"""The places of the states."""
SVDF = "SVDF"
"""The schema's name."""
FEATURE_WEIGHTS, TIME_WEIGHTS, SVDF_BIAS, SVDF_STATE = 1, 2, 3, 4
"""The places of an SVDF's inputs after the data."""
REMEMBERING = {LSTM: CELL_STATE, SVDF: SVDF_STATE}
"""The operators with a memory that compute integers, and the place of the state whose range no tensor shows."""
_SVDF_BOUNDS = {"NONE": (None, None), "RELU": (0.0, None), "RELU6": (0.0, 6.0), "RELU_N1_TO_1": (-1.0, 1.0)}
"""By the activation: the bounds that the output's elements must have, because the kernel of integers has no other activation."""
_NEAR = 0.51
"""Of a step between elements: bounds are as exact as elements can be."""
_MOST_ROWS = 64


def remembering_of(network: Network) -> list[Layer]:
    """The layers of a network whose states have ranges."""
    return [layer for layer in network.layers if layer.name in REMEMBERING]


def state_of(layer: Layer) -> int:
    """The variable of a layer whose range no tensor shows."""
    return layer.inputs[REMEMBERING[layer.name]]


def state_type(layer: Layer, values: Range | None) -> Affine:
    """The type of this variable; it is s16.

    Args:
        layer: with the memory.
        values: the range of the variable; None: nothing is known of it.
    """
    return cell_type(values) if layer.name == LSTM else Affine.of(values or Range(-1.0, 1.0), DType.S16)


def unbounded(network: Network, layer: Layer, output: Affine) -> str:
    """Why an SVDF cannot compute integers with this output; empty if it can.

    An activation cuts sums at bounds. The kernel cuts them at the least and the largest element, which must mean no more.
    """
    activation = getattr(network.views[layer.index].op, "activation", None)
    name = getattr(activation, "name", "NONE")
    if name not in _SVDF_BOUNDS:
        return f"there is no SVDF of int8 with {name}"
    low, high = _SVDF_BOUNDS[name]
    lowest, highest = ((end - output.zero_point) * output.scale for end in output.dtype.limits)
    is_low = low is None or lowest >= low - _NEAR * output.scale
    is_high = high is None or highest <= high + _NEAR * output.scale
    return "" if is_low and is_high else f"its {name} would let values pass that other tensors of its scale have"


def cell_type(values: Range | None) -> Affine:
    """The type of the cells of an LSTM: the least power of two that holds what the data show.

    Args:
        values: the range of the cells; None: nothing is known of them.
    """
    largest = 1.0 if values is None else max(values.high, -values.low, 2.0**-10)
    return Affine(DType.S16, 2.0 ** (ceil(log2(largest)) - 15), 0)


def states_of(network: Network, layer: Layer, inputs: Iterable[Array], *, keep_state: bool = False) -> Channels:
    """What data show of the state of a layer with a memory: of the cells of an LSTM, of what the filters of an SVDF gave.

    Args:
        network: the float32 model.
        layer: the layer.
        inputs: the elements of its input, for each of several inferences.
        keep_state: True if the states stay from one inference to the next.
    """
    view = network.views[layer.index]
    compute = view.op.stateful_reference(view)
    states = [np.zeros(view[name].type.shape, np.float32) for name in view.op.states]
    largest = 0.0
    for number, array in enumerate(inputs):
        if not keep_state or not number:
            for state in states:
                state[:] = 0
        for vectors in _steps(view, array):
            compute([vectors], states)
            largest = max(largest, float(np.abs(states[-1]).max(initial=0)))
    ends = np.full(1, largest)
    return Channels(np.zeros(1), -ends, ends)


def _steps(view: NodeView, array: Array) -> Iterable[Sequence[Array]]:
    """The vectors of all batches, one step in time after another; an SVDF takes one step."""
    if view.op.name == SVDF:
        return [[array]]
    times = array if getattr(view.op, "time_major", False) else np.swapaxes(array, 0, 1)
    return [list(vectors) for vectors in times]


def seen_of(network: Network, rows: Sequence[Sequence[Array]], *, keep_state: bool = False) -> Mapping[int, Channels]:
    """What calibration data show of each tensor of float32, and of the states of layers with a memory, by the variable's index.

    Args:
        network: the float32 model.
        rows: inputs; for each an array for each model input, of its shape and type.
        keep_state: True if the inputs are a sequence: variables keep their values.

    Raises:
        InputError: there are no inputs, or a tensor has a value that is not a number.
        ToolchainError: the compiler is missing or fails.
    """
    layers = remembering_of(network)
    kept: dict[int, list[Array]] = {layer.inputs[0]: [] for layer in layers}
    seen = dict(calibrate(network, rows, keep_state=keep_state, kept=kept))
    for layer in layers:
        inputs = kept[layer.inputs[0]]
        chosen = inputs if keep_state else inputs[:: max(1, len(inputs) // _MOST_ROWS)]
        seen[state_of(layer)] = states_of(network, layer, chosen, keep_state=keep_state)
    return seen | variables_of(network, seen)
