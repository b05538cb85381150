"""The ranges of what reads resource variables, which no operator of the graph makes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from kibi.dtypes import Array
from kibi.quantization.calibration import Channels
from kibi.quantization.layer import Layer
from kibi.quantization.network import Network


@dataclass(frozen=True, slots=True)
class _Variables:
    """The operators of variables of a network.

    Attributes:
        names: the name of the variable of each handle, by the index of its tensor.
        reads, assigns: operators.
        first: the first values of variables, by name.
    """

    names: Mapping[int, str]
    reads: tuple[Layer, ...]
    assigns: tuple[Layer, ...]
    first: Mapping[str, Array]

    @staticmethod
    def of(network: Network) -> "_Variables":
        layers = network.layers
        names = {
            index: str(layer.attributes.get("shared_name", ""))
            for layer in layers
            if layer.name == "VAR_HANDLE"
            for index in layer.outputs
        }
        reads = [each for each in layers if each.name == "READ_VARIABLE" and network.is_real(each.outputs[0])]
        assigns = [each for each in layers if each.name == "ASSIGN_VARIABLE"]
        first = {tensor.name: tensor.initial for tensor in network.graph.tensors if tensor.initial is not None}
        return _Variables(names, tuple(reads), tuple(assigns), first)

    def name(self, layer: Layer) -> str:
        """The name of the variable that an operator reads or assigns."""
        return self.names.get(layer.inputs[0], "")


def variables_of(network: Network, seen: Mapping[int, Channels]) -> dict[int, Channels]:
    """What is known of the tensors that read variables, by their index: the ends of what is assigned, and of the first value.

    Where a variable is assigned what was read of another one, the ends are those of all variables.

    Args:
        network: the float32 model.
        seen: what calibration data show of other tensors.
    """
    variables = _Variables.of(network)
    read = {each.outputs[0] for each in variables.reads}
    ends: dict[str, tuple[float, float]] = {}
    copies: set[str] = set()
    for name, array in variables.first.items():
        ends[name] = _wider(ends.get(name), array)
    for layer in variables.assigns:
        name, value = variables.name(layer), layer.inputs[1]
        if value in read:
            copies.add(name)
        for array in _ends_of(network, value, seen):
            ends[name] = _wider(ends.get(name), array)
    every = (min((low for low, _ in ends.values()), default=0.0), max((high for _, high in ends.values()), default=0.0))
    found = {}
    for layer in variables.reads:
        name = variables.name(layer)
        low, high = every if name in copies else ends.get(name, (0.0, 0.0))
        shape = network.graph.tensors[layer.outputs[0]].type.shape
        count = shape[-1] if shape else 1
        found[layer.outputs[0]] = Channels(np.zeros(count), np.full(count, low), np.full(count, high))
    return found


def _ends_of(network: Network, index: int, seen: Mapping[int, Channels]) -> Iterator[Array]:
    """Yields the ends of a tensor that is assigned."""
    if index in seen:
        yield seen[index].lows
        yield seen[index].highs
    data = network.constant(index)
    if data is not None:
        yield data


def _wider(ends: tuple[float, float] | None, array: Array) -> tuple[float, float]:
    """The ends of all elements and of what came before; 0 is among them."""
    low, high = ends or (0.0, 0.0)
    return min(low, float(array.min(initial=0))), max(high, float(array.max(initial=0)))
