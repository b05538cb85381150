"""The error of each layer of a model of integers, beside the float32 model that any tool made it from."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from kibi.arrays.dataset import open_dataset
from kibi.arrays.rows import fit_rows, real_rows
from kibi.dtypes import Array, DType
from kibi.errors import InputError
from kibi.ir import Graph, Tensor
from kibi.quantization.calibration import Values
from kibi.quantization.channel_factors import channel_factors
from kibi.quantization.noise import Energy, lost_decibels
from kibi.quantization.running import GraphRunner
from kibi.quantization.samples import layer_rows
from kibi.reports.evaluating import check_reference
from kibi.reports.outputs import real_values

_SUFFIXES = ("_int8", "_uint8", "_int16")
"""What TensorFlow's converter adds to the name of a tensor when it makes integers of it."""
_SHOWN = 2


@dataclass(frozen=True, slots=True)
class LayerError:
    """The error of the tensor that one operator makes.

    Attributes:
        output: its name.
        reference_output: the name of its partner in the float32 model.
        decibels: how much stronger the partner's elements are than the differences to them; at most 200.
        lost_decibels: of these, how many its most exact input of which it is known had more; below 0: it has more itself.
        has_factors: True if its channels are those of the partner by factors, which were taken out.
    """

    output: str
    reference_output: str
    decibels: float
    lost_decibels: float
    has_factors: bool = False


@dataclass(frozen=True, slots=True)
class LayerComparison:
    """The error of each layer.

    Attributes:
        reference: the name of the float32 model's file.
        data: the name of the data.
        inputs: on how many inputs.
        layers: of each operator that has a partner, in order.
        without_partner: the names of the tensors that other operators make.
    """

    reference: str
    data: str
    inputs: int
    layers: tuple[LayerError, ...]
    without_partner: tuple[str, ...]


def compare(graph: Graph, reference: Graph, data: str | Path | Callable[[], Iterable[Any]]) -> LayerComparison:
    """Compares what the operators of a model make with what those of a float32 model make, on up to 32 inputs.

    Layers are matched as `partners_of` does it.

    Args:
        graph: the model, best before the lossless passes.
        reference: the float32 model.
        data: see `open_dataset`; real values, or elements of the model's own type.

    Raises:
        InputError: the data do not fit, or the models are not of one network.
        ToolchainError: the compiler is missing or fails.
    """
    check_reference(graph, reference)
    pairs = partners_of(graph, reference)
    dataset = open_dataset(graph, data)
    rows = layer_rows(dataset)
    factors = channel_factors(graph, reference, pairs)
    energies, count = _energies(graph, reference, pairs, factors, [each.inputs for each in rows], dataset.source)
    made = [node.outputs[0] for node in graph.nodes if node.outputs]
    errors = tuple(
        LayerError(
            output=graph.tensors[node.outputs[0]].name,
            reference_output=reference.tensors[pairs[node.outputs[0]]].name,
            decibels=energies[node.outputs[0]].decibels,
            lost_decibels=lost_decibels(
                [index for index in node.inputs if index is not None], node.outputs[0], energies
            ),
            has_factors=node.outputs[0] in factors,
        )
        for node in graph.nodes
        if node.outputs and node.outputs[0] in energies
    )
    alone = tuple(graph.tensors[index].name for index in made if index not in energies)
    return LayerComparison(reference.source, dataset.source, count, errors, alone)


def _energies(
    graph: Graph,
    reference: Graph,
    pairs: Mapping[int, int],
    factors: Mapping[int, Values],
    rows: Sequence[Sequence[Array]],
    source: str,
) -> tuple[dict[int, Energy], int]:
    """Signal and noise of each tensor with a partner, without the factors of its channels; and the number of inputs.

    Raises:
        InputError: no input has outputs, or a value is no finite number.
    """
    ours, theirs = tuple(pairs), tuple(pairs.values())
    exact = GraphRunner(reference, theirs).run_all([_inputs(reference, graph, each, source) for each in rows])
    found = GraphRunner(graph, ours).run_all([_inputs(graph, graph, each, source) for each in rows])
    energies, count = dict.fromkeys(ours, Energy()), 0
    for wanted, made in zip(exact, found, strict=True):
        if not wanted or not made:  # an operator waits for further inputs
            continue
        count += 1
        for index, right, elements in zip(ours, wanted, made, strict=True):
            reals = real_values(graph.tensors[index], elements)
            energies[index] = energies[index].plus(right, reals / factors[index] if index in factors else reals)
    if not count:
        what = f"{source}: of the first {len(rows)} inputs none has outputs, because an operator waits for further ones"
        raise InputError(f"{what}. Errors of layers cannot be measured: leave the reference out.")
    for index, energy in energies.items():
        if not isfinite(energy.signal + energy.noise):
            name = reference.tensors[pairs[index]].name
            what = f"{source}: with these inputs, tensor {name!r} of {reference.source} has values that are not finite"
            raise InputError(f"{what}. Give inputs that are scaled as those that the model was trained on.")
    return energies, count


def _inputs(graph: Graph, given_for: Graph, arrays: Sequence[Array], source: str) -> list[Array]:
    """One input in a graph's own form; elements that are given in the form of another graph become real values first."""
    rows = [array[np.newaxis] for array in arrays]
    if graph is not given_for:
        rows = [real_rows(given_for, number, each) for number, each in enumerate(rows)]
    return [fit_rows(graph, number, each, source)[0] for number, each in enumerate(rows)]


def partners_of(graph: Graph, reference: Graph) -> dict[int, int]:
    """For each tensor that an operator makes first, its partner in the float32 model, by their indices.

    Partners have the same name and number of elements. Of names that a converter joined by `;`, the order does not count, nor does
    an end that says that there are integers. A name that several tensors of a model have is none.

    Raises:
        InputError: the reference makes no tensor of float32.
    """
    theirs = [tensor for tensor in _made(reference) if tensor.type.dtype is DType.F32]
    if not theirs:
        what = f"{reference.source}: its operators make no tensor of float32, beside which an error could be measured"
        raise InputError(f"{what}. Give the float32 model that {graph.source} was quantized from.")
    ours = [tensor for tensor in _made(graph) if _is_real(tensor)]
    found: dict[int, int] = {}
    for key in (_name, _parts):
        known, own = _unique(theirs, key), _unique(ours, key)
        for name, tensor in own.items():
            other = known.get(name)
            if other is not None and other.type.elements == tensor.type.elements:
                found.setdefault(tensor.index, other.index)
    if not found:
        what = f"no tensor that operators of {reference.source} make has the name and the size of one in {graph.source}"
        names = " and ".join(", ".join(repr(each.name) for each in some[:_SHOWN]) for some in (theirs, ours))
        raise InputError(
            f"{what}: layers are matched by these names, such as {names}. Give the float32 model that it was quantized from."
        )
    return found


def _made(graph: Graph) -> list[Tensor]:
    """The tensors that operators make first."""
    return [graph.tensors[node.outputs[0]] for node in graph.nodes if node.outputs]


def _is_real(tensor: Tensor) -> bool:
    """True if the elements of a tensor mean real numbers."""
    quantization = tensor.type.quantization
    is_scaled = quantization is not None and not quantization.is_per_channel and tensor.type.dtype.is_integer
    return tensor.type.dtype is DType.F32 or is_scaled


def _unique(tensors: Sequence[Tensor], key: Callable[[str], object]) -> dict[object, Tensor]:
    """The tensors by what names them; what names several names none."""
    count = Counter(key(tensor.name) for tensor in tensors)
    return {key(tensor.name): tensor for tensor in tensors if tensor.name and count[key(tensor.name)] == 1}


def _name(name: str) -> str:
    return name


def _parts(name: str) -> tuple[str, ...]:
    """The parts of a name that a converter joined, without what says that there are integers."""
    suffix = next((each for each in _SUFFIXES if name.endswith(each)), "")
    return tuple(sorted(name.removesuffix(suffix).split(";")))
