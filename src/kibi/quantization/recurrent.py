"""Layers with a memory: an LSTM of integers has scales for its states, which no tensor of the graph shows.

Source: TFLM `micro/kernels/lstm_eval_common.cc`: cells are s16 with a power of two for a scale, the hidden state is the output.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil, log2

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import NodeView
from kibi.quantization.affine import Affine, Range
from kibi.quantization.calibration import Channels, calibrate
from kibi.quantization.network import Layer, Network

LSTM = "UNIDIRECTIONAL_SEQUENCE_LSTM"
"""The schema's name."""
GATES, LSTM_INPUTS = 4, 24
"""Of an LSTM; TFLM wants all inputs, also those that are left out."""
INPUT_WEIGHTS, RECURRENT_WEIGHTS, BIASES = 1, 5, 12
"""The places of the first of four weights and biases among an LSTM's inputs."""
HIDDEN_STATE, CELL_STATE = 18, 19
"""The places of the states."""
_MOST_ROWS = 64


def lstms_of(network: Network) -> list[Layer]:
    """The LSTM layers of a network."""
    return [layer for layer in network.layers if layer.name == LSTM]


def cell_type(values: Range | None) -> Affine:
    """The type of the cells of an LSTM: the least power of two that holds what the data show.

    Args:
        values: the range of the cells; None: nothing is known of them.
    """
    largest = 1.0 if values is None else max(values.high, -values.low, 2.0**-10)
    return Affine(DType.S16, 2.0 ** (ceil(log2(largest)) - 15), 0)


def cells_of(network: Network, layer: Layer, inputs: Iterable[Array], *, keep_state: bool = False) -> Channels:
    """What data show of the cells of an LSTM.

    Args:
        network: the float32 model.
        layer: the LSTM.
        inputs: the elements of its input, for each of several inferences.
        keep_state: True if the states stay from one inference to the next.
    """
    view = network.views[layer.index]
    compute = view.op.stateful_reference(view)
    hidden, cells = _states(view)
    largest = 0.0
    for number, array in enumerate(inputs):
        if not keep_state or not number:
            hidden[:], cells[:] = 0, 0
        for vectors in _steps(view, array):
            compute([vectors], [hidden, cells])
            largest = max(largest, float(np.abs(cells).max(initial=0)))
    ends = np.full(1, largest)
    return Channels(0 * ends, -ends, ends)


def _states(view: NodeView) -> tuple[Array, Array]:
    shapes = [view[name].type.shape for name in ("output_state", "cell_state")]
    return np.zeros(shapes[0], np.float32), np.zeros(shapes[1], np.float32)


def _steps(view: NodeView, array: Array) -> Iterable[Sequence[Array]]:
    """The vectors of all batches, one step in time after another."""
    times = array if getattr(view.op, "time_major", False) else np.swapaxes(array, 0, 1)
    return [list(vectors) for vectors in times]


def seen_of(network: Network, rows: Sequence[Sequence[Array]], *, keep_state: bool = False) -> Mapping[int, Channels]:
    """What calibration data show of each tensor of float32, and of the cells of LSTMs, by the index of the cells' variable.

    Args:
        network: the float32 model.
        rows: inputs; for each an array for each model input, of its shape and type.
        keep_state: True if the inputs are a sequence: variables keep their values.

    Raises:
        InputError: there are no inputs, or a tensor has a value that is not a number.
        ToolchainError: the compiler is missing or fails.
    """
    layers = lstms_of(network)
    kept: dict[int, list[Array]] = {layer.inputs[0]: [] for layer in layers}
    seen = dict(calibrate(network, rows, keep_state=keep_state, kept=kept))
    for layer in layers:
        inputs = kept[layer.inputs[0]]
        chosen = inputs if keep_state else inputs[:: max(1, len(inputs) // _MOST_ROWS)]
        seen[layer.inputs[CELL_STATE]] = cells_of(network, layer, chosen, keep_state=keep_state)
    return seen
