"""Quantizes a float32 network with calibration data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from kibi.dtypes import Array, DType
from kibi.errors import InputError, InternalError, ModelError
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph
from kibi.passes.compressed_weights import compressed_where_it_saves
from kibi.quantization.affine import Affine
from kibi.quantization.calibration import Channels, Values
from kibi.quantization.layer import Layer
from kibi.quantization.layout import Choice, Form, Layout, choose, lay_out
from kibi.quantization.narrow_weights import int4_refusal
from kibi.quantization.network import Network
from kibi.quantization.precision import FLOAT32, INT4, INT16, Precision, precisions_down_to
from kibi.quantization.recurrent import SVDF, seen_of, unbounded
from kibi.quantization.writing import Written, write_model


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a quantized model is to be.

    Attributes:
        activations: s8 or s16.
        is_int4: True if weights are int4 wherever an operator of s8 can have them; others are s8.
        floats, int16, int4: operators that stay float32, that compute int16, and that compute int8 with weights of int4: names of
            kinds (`SOFTMAX`) or of tensors that they make. Of an operator with several of them, the most precise one counts.
        is_float_outside: True if inputs and outputs stay float32.
        keep_state: True if calibration inputs are a sequence: variables keep their values.
        chosen: the types of operators that a search has chosen, by their indices; names go before them.
    """

    activations: DType = DType.S8
    is_int4: bool = False
    floats: frozenset[str] = frozenset()
    int16: frozenset[str] = frozenset()
    int4: frozenset[str] = frozenset()
    is_float_outside: bool = False
    keep_state: bool = False
    chosen: Mapping[int, Precision] = field(default_factory=dict)

    @property
    def ladder(self) -> tuple[Precision, ...]:
        """The types of operators that are not named, the most precise first; without a search they have the last one."""
        return precisions_down_to(self.activations, is_int4=self.is_int4)

    def of(self, network: Network, layer: Layer) -> Precision:
        """The types that a layer is to compute."""
        names = names_of(network, layer)
        for named, precision in ((self.floats, FLOAT32), (self.int16, INT16), (self.int4, INT4)):
            if names & named:
                return precision
        return self.chosen.get(layer.index, self.ladder[-1])

    def names(self, network: Network, layer: Layer) -> bool:
        """True if a layer is one of those that are named."""
        return bool(names_of(network, layer) & (self.floats | self.int16 | self.int4))

    def check(self, network: Network) -> None:
        """Checks that the names are those of operators, which can have the types that are asked for.

        Raises:
            InputError: one is not, or cannot.
        """
        known = {name for layer in network.layers for name in names_of(network, layer)}
        unknown = sorted((self.floats | self.int16 | self.int4) - known)
        if unknown:
            what = f"{network.graph.source}: no operator is called {unknown[0]!r}, and none makes a tensor of that name"
            raise InputError(f"{what}. `kibi inspect --text` shows both.")
        for layer in network.layers:
            is_meant = self.names(network, layer) and self.of(network, layer).is_int4
            reason = int4_refusal(network, layer) if is_meant else ""
            if reason:
                what = f"{network.graph.source}: {layer.name} {network.name_of(layer)!r} cannot have weights of int4: {reason}"
                raise InputError(f"{what}. Leave its name out, or name others by the tensors that they make.")


@dataclass(frozen=True, slots=True)
class Changes:
    """How a quantized model differs from one with the ranges of the data and the weights of the file.

    Attributes:
        shrunk: by the first form of a group, the part of its range that elements reach.
        biases: other biases, f32, by the index of the operator.
        weights: other constants, f32, by the index of the tensor.
        factors: what other weights multiply the channels of a tensor with, `[C]`, by its index.
    """

    shrunk: Mapping[Form, float] = field(default_factory=dict)
    biases: Mapping[int, Array] = field(default_factory=dict)
    weights: Mapping[int, Array] = field(default_factory=dict)
    factors: Mapping[int, Values] = field(default_factory=dict)


@dataclass(frozen=True)
class Model:
    """A quantized model, and what it was made of.

    Attributes:
        network: the float32 model.
        seen: what the calibration data show of its tensors, by index.
        wishes: what was asked for.
        changes: what was done beyond the ranges of the data.
        refused: operators that stay float32 because their kernels refuse the integers, with the reason.
        written: the new file.
        graph: the new model as Kibi runs it.
    """

    network: Network
    seen: Mapping[int, Channels]
    wishes: Wishes
    changes: Changes
    refused: Mapping[int, str]
    written: Written
    graph: Graph

    @staticmethod
    def of(
        network: Network, seen: Mapping[int, Channels], wishes: Wishes, changes: Changes, refused: Mapping[int, str]
    ) -> "Model":
        """Writes a model and reads it again; operators that refuse their integers become float32.

        Raises:
            InternalError: the new model is refused for a reason that is not one operator's.
        """
        scaled = {index: seen[index].times(factors) for index, factors in changes.factors.items()}
        ranges = {index: channels.range for index, channels in {**seen, **scaled}.items()}
        known = dict(refused)
        while True:
            choices = choose(network, lambda layer: wishes.of(network, layer), known, wishes.chosen)
            layout = lay_out(network, choices, ranges, changes.shrunk)
            refused_here = _unbounded(network, layout)
            if refused_here:
                known |= refused_here
                continue
            written = write_model(
                network,
                layout,
                biases=changes.biases,
                weights=changes.weights,
                is_float_outside=wishes.is_float_outside,
            )
            try:
                graph = compressed_where_it_saves(parse_tflite(written.data, network.graph.source))
            except ModelError as error:
                found = _refusals(error, written, choices)
                if not found:
                    raise InternalError(f"the quantized model is refused: {error}") from error
                known |= found
            else:
                return Model(network, seen, wishes, changes, known, written, graph)

    def changed(self, changes: Changes) -> "Model":
        """The same model with other changes."""
        return Model.of(self.network, self.seen, self.wishes, changes, self.refused)

    @property
    def choices(self) -> Mapping[int, Choice]:
        """What each operator computes, by its index in the float32 model's file."""
        return self.written.layout.choices

    @cached_property
    def forms(self) -> Mapping[int, tuple[int, Affine | None]]:
        """For each tensor of the float32 model the tensor in which the new one gives or makes it, and its type; None: float32."""
        made = {index for node in self.graph.nodes for index in node.outputs} | set(self.graph.inputs)
        found: dict[int, tuple[int, Affine | None]] = {}
        for (index, dtype), place in self.written.indices.items():
            if place in made and index not in found:  # the first form is the native one
                found[index] = place, None if dtype is DType.F32 else self.written.layout.type_of((index, dtype))
        return found

    def reals_of(self, index: int, elements: Array) -> Values:
        """The real values that elements of the quantized model mean in the float32 model.

        Args:
            index: of the tensor in the float32 model.
            elements: of its native form.
        """
        kind, factors = self.forms[index][1], self.changes.factors.get(index)
        reals = elements.astype(np.float64) if kind is None else kind.reals(elements)
        return reals if factors is None else reals / factors

    def inputs_of(self, inputs: Sequence[Array]) -> list[Array]:
        """The inputs of the quantized model from those of the float32 one."""
        found = []
        for index, array in zip(self.network.inputs, inputs, strict=True):
            kind = self.forms[index][1] if index in self.forms else None
            found.append(array if kind is None else kind.elements(array))
        return found


def names_of(network: Network, layer: Layer) -> frozenset[str]:
    """The names by which an operator can be named: its kind, the tensors that it makes, and the first parts of fused names."""
    tensors = [network.records[index].name for index in layer.outputs]
    return frozenset((layer.name, *tensors, *(name.split(";")[0] for name in tensors)))


def _unbounded(network: Network, layout: Layout) -> dict[int, str]:
    """The operators whose activation is the range of their output, where the layout gives it another one, with the reason."""
    found = {}
    for layer in network.layers:
        dtype = layout.dtype_of(layer)
        if layer.name == SVDF and dtype is not DType.F32:
            found[layer.index] = unbounded(network, layer, layout.type_of((layer.outputs[0], dtype)))
    return {index: reason for index, reason in found.items() if reason}


def _refusals(error: ModelError, written: Written, choices: Mapping[int, Choice]) -> dict[int, str]:
    """The operators whose kernels refuse their integers, with the reason."""
    found: dict[int, str] = {}
    for problem in error.problems:
        index = written.operators.get(-1 if problem.operator is None else problem.operator)
        if index is not None and choices[index].dtype not in (None, DType.F32):
            found.setdefault(index, problem.what)
    return found


def quantize_network(network: Network, rows: Sequence[Sequence[Array]], wishes: Wishes) -> Model:
    """Quantizes a network to the ranges that calibration data have.

    Args:
        network: the float32 model.
        rows: calibration inputs; for each an array for each model input, of its shape and type.
        wishes: what the new model is to be.

    Raises:
        InputError: there are no inputs, or a tensor has a value that is not a number.
        ToolchainError: the compiler is missing or fails.
    """
    wishes.check(network)
    seen = seen_of(network, rows, keep_state=wishes.keep_state)
    return Model.of(network, seen, wishes, Changes(), {})
