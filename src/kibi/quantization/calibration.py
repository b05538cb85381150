"""What calibration data show of a network's tensors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.errors import InputError
from kibi.quantization.affine import MOST_REAL, Range
from kibi.quantization.network import Network
from kibi.quantization.running import GraphRunner

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Channels:
    """What calibration data show of a tensor.

    Attributes:
        means: the mean of each channel, which is the last axis: `[C]`.
        lows, highs: the ends of each channel: `[C]`.
    """

    means: Values
    lows: Values
    highs: Values

    @property
    def range(self) -> Range:
        """The range of all elements."""
        return Range.around(float(self.lows.min(initial=np.inf)), float(self.highs.max(initial=-np.inf)))

    def times(self, factors: Values) -> "Channels":
        """The same of a tensor whose channels are multiplied with positive factors `[C]`."""
        return Channels(self.means * factors, self.lows * factors, self.highs * factors)


class _Counter:
    """Adds up arrays of one tensor; elements beyond 1e30 do not count."""

    def __init__(self, channels: int) -> None:
        self._count = 0
        self._total = np.zeros(channels)
        self._lows = np.full(channels, np.inf)
        self._highs = np.full(channels, -np.inf)

    def add(self, array: Array) -> bool:
        """Counts an array; False if an element is not a number."""
        table = array.reshape(-1, len(self._total)).astype(np.float64)
        is_finite = np.abs(table) < MOST_REAL
        self._lows = np.minimum(self._lows, np.where(is_finite, table, np.inf).min(axis=0, initial=np.inf))
        self._highs = np.maximum(self._highs, np.where(is_finite, table, -np.inf).max(axis=0, initial=-np.inf))
        self._total += np.where(is_finite, table, 0.0).sum(axis=0)
        self._count += len(table)
        return not np.isnan(table).any()

    def channels(self) -> Channels:
        """What was counted."""
        lows, highs = (np.where(np.isfinite(ends), ends, 0.0) for ends in (self._lows, self._highs))
        return Channels(self._total / max(self._count, 1), lows, highs)


def calibrate(
    network: Network,
    rows: Sequence[Sequence[Array]],
    *,
    keep_state: bool = False,
    kept: Mapping[int, list[Array]] | None = None,
) -> Mapping[int, Channels]:
    """What calibration data show of each tensor of float32, by its index.

    Args:
        network: the model.
        rows: inputs; for each an array for each model input, of its shape and type.
        keep_state: True if the inputs are a sequence: variables keep their values.
        kept: lists to which the elements of tensors are added, by their indices; None: none.

    Raises:
        InputError: there are no inputs, or a tensor has a value that is not a number.
        ToolchainError: the compiler is missing or fails.
    """
    if not rows:
        raise InputError("there are no calibration inputs. Give at least one; 100 to 500 are usual.")
    made = [index for index in network.reals if index not in network.inputs]
    counters = {index: _Counter(_channel_count(network, index)) for index in network.reals}
    runner = GraphRunner(network.graph, made)
    for inputs, outputs in zip(rows, runner.run_all(rows, keep_state=keep_state), strict=True):
        for index, array in (*zip(network.inputs, inputs, strict=True), *zip(made, outputs, strict=True)):
            if index in counters and not counters[index].add(array):
                name = network.graph.tensors[index].name
                what = f"{network.graph.source}: {name!r} has a value that is not a number for a calibration input"
                raise InputError(
                    f"{what}. Look at the data: they may be scaled otherwise than those that the model was trained on."
                )
            if kept is not None and index in kept:
                kept[index].append(array)
    return {index: counter.channels() for index, counter in counters.items()}


def _channel_count(network: Network, index: int) -> int:
    shape = network.graph.tensors[index].type.shape
    return shape[-1] if shape else 1
