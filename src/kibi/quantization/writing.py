"""Writes a quantized model as a `.tflite` file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kibi.dtypes import Array, DType
from kibi.errors import InternalError
from kibi.frontends.tflite import int4
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.frontends.tflite.reader import TENSOR_TYPES
from kibi.quantization.affine import Affine, Range, quantize_bias, quantize_time_weights, quantize_weights
from kibi.quantization.layer import Layer
from kibi.quantization.layout import Form, Layout
from kibi.quantization.narrow_weights import MOST_INT4, MOST_INT8, int4_axis
from kibi.quantization.network import Network
from kibi.quantization.recurrent import (
    BIASES,
    CELL_STATE,
    FEATURE_WEIGHTS,
    GATES,
    HIDDEN_STATE,
    INPUT_WEIGHTS,
    LSTM,
    LSTM_INPUTS,
    RECURRENT_WEIGHTS,
    SVDF,
    SVDF_BIAS,
    SVDF_STATE,
    TIME_WEIGHTS,
)
from kibi.quantization.rules import RULES, Rule, Weights

_BIAS_TYPES = {DType.S8: DType.S32, DType.S16: DType.S64}
_PLAN_METADATA = "OfflineMemoryAllocation"


@dataclass(frozen=True, slots=True)
class Written:
    """A quantized model.

    Attributes:
        data: the contents of the file.
        layout: the types of its tensors.
        indices: the index in the file of each form of a tensor.
        operators: the operator of the float32 model of which each operator was made, by its index; conversions have none.
    """

    data: bytes = field(repr=False)
    layout: Layout
    indices: Mapping[Form, int]
    operators: Mapping[int, int]


def write_model(
    network: Network,
    layout: Layout,
    *,
    biases: Mapping[int, Array] | None = None,
    weights: Mapping[int, Array] | None = None,
    is_float_outside: bool = False,
) -> Written:
    """Writes a model with integers where the layout has them.

    Args:
        network: the float32 model.
        layout: the types.
        biases: other biases, f32, by the index of the operator.
        weights: other constants, f32, by the index of the tensor.
        is_float_outside: True if inputs and outputs stay float32.
    """
    return _Writer(network, layout, biases or {}, weights or {}, is_float_outside=is_float_outside).written()


class _Writer:
    """Collects tensors and operators of the new file in the order of the old one."""

    def __init__(
        self,
        network: Network,
        layout: Layout,
        biases: Mapping[int, Array],
        weights: Mapping[int, Array],
        *,
        is_float_outside: bool,
    ) -> None:
        self._network = network
        self._layout = layout
        self._biases = biases
        self._weights = weights
        self._is_float_outside = is_float_outside
        self._builder = ModelBuilder()
        self._forms: dict[Form, int] = {}
        self._native: dict[int, DType] = {}
        """The type in which each tensor is given or made."""
        self._kept: dict[int, int] = {}
        """Tensors that are no real numbers, or stay as they are."""
        self._constants: dict[tuple[int, str, bytes], int] = {}
        self._operators: dict[int, int] = {}

    def written(self) -> Written:
        """The file."""
        inputs = [self._input(index) for index in self._network.inputs]
        for layer in self._network.layers:
            self._add(layer)
        outputs = [self._output(index) for index in self._network.outputs]
        self._add_signatures(inputs, outputs)
        self._add_metadata()
        data = self._finished(inputs, outputs)
        return Written(data, self._layout, dict(self._forms), dict(self._operators))

    def _finished(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        """The file, with the further subgraphs as they are."""
        for each in self._network.subgraphs:
            self._builder.end_subgraph(outputs, inputs)
            each.write(self._builder)
            inputs, outputs = each.inputs, each.outputs
        return self._builder.finish(outputs, inputs, description="quantized by Kibi")

    def _input(self, index: int) -> int:
        if not self._network.is_real(index):
            return self._as_it_is(index)
        wanted = [self._layout.dtype_of(layer) for layer in self._network.users.get(index, ())]
        integers = [dtype for dtype in wanted if dtype is not DType.F32]
        dtype = DType.F32 if self._is_float_outside or not integers else integers[0]
        return self._made(index, dtype)

    def _output(self, index: int) -> int:
        if not self._network.is_real(index):
            return self._as_it_is(index)
        return self._form(index, DType.F32 if self._is_float_outside else self._native[index])

    def _made(self, index: int, dtype: DType) -> int:
        """Adds a tensor in the type in which it is given or made."""
        self._native[index] = dtype
        return self._tensor(index, dtype, self._network.records[index].name)

    def _tensor(self, index: int, dtype: DType, name: str, kind: Affine | None = None) -> int:
        shape = self._network.graph.tensors[index].type.shape
        if dtype is DType.F32:
            made = self._builder.tensor(shape, dtype, name=name)
        else:
            kind = kind or self._layout.type_of((index, dtype))
            made = self._builder.tensor(shape, dtype, kind.scale, kind.zero_point, name=name)
        return self._forms.setdefault((index, dtype), made)

    def _form(self, index: int, dtype: DType) -> int:
        """A tensor in a type, converted if it is made in another one."""
        if (index, dtype) not in self._forms:
            source = self._forms[index, self._native[index]]
            made = self._tensor(index, dtype, f"{self._network.records[index].name}_{dtype}")
            self._builder.operator("DEQUANTIZE" if dtype is DType.F32 else "QUANTIZE", [source], [made])
        return self._forms[index, dtype]

    def _requantized(self, index: int, dtype: DType, kind: Affine) -> int:
        """A tensor in a scale of another group."""
        source = self._form(index, dtype)
        if self._layout.type_of((index, dtype)) == kind:
            return source
        shape, name = self._network.graph.tensors[index].type.shape, self._network.records[index].name
        made = self._builder.tensor(shape, dtype, kind.scale, kind.zero_point, name=f"{name}_rescaled")
        self._builder.operator("QUANTIZE", [source], [made])
        return made

    def _as_it_is(self, index: int) -> int:
        """A tensor that keeps type and contents; -1 for an operand that is left out."""
        if index < 0:
            return index
        if index not in self._kept:
            tensor, record = self._network.graph.tensors[index], self._network.records[index]
            data = self._data(index)
            self._kept[index] = self._builder.tensor(
                tensor.type.shape if data is not None else record.shape,
                TENSOR_TYPES[record.type_code],
                name=record.name,
                data=None if data is None else _bytes(data),
                variable=record.is_variable,
            )
        return self._kept[index]

    def _data(self, index: int) -> Array | None:
        return self._weights.get(index, self._network.constant(index))

    def _add(self, layer: Layer) -> None:
        dtype = self._layout.choices[layer.index].dtype
        if dtype is None or dtype is DType.F32:
            inputs = [self._plain(index) for index in layer.inputs]
            made_as = DType.F32
        else:
            inputs, made_as = self._operands(layer, dtype), dtype
        outputs = [
            self._made(index, made_as) if self._network.is_real(index) else self._as_it_is(index)
            for index in layer.outputs
        ]
        self._operators[layer.write(self._builder, inputs, outputs)] = layer.index

    def _plain(self, index: int) -> int:
        return self._form(index, DType.F32) if self._network.is_real(index) else self._as_it_is(index)

    def _operands(self, layer: Layer, dtype: DType) -> list[int]:
        """The inputs of an operator that computes integers."""
        rule = RULES[layer.name]
        if layer.name == LSTM:
            return self._recurrent(layer, dtype)
        if layer.name == SVDF:
            return self._filtered(layer, dtype)
        if rule.weights is not None:
            return self._weighted(layer, dtype, rule, rule.weights)
        return [self._operand(layer, place, dtype, rule) for place in range(len(layer.inputs))]

    def _operand(self, layer: Layer, place: int, dtype: DType, rule: Rule) -> int:
        index = layer.inputs[place]
        if self._network.is_real(index):
            if (layer.index, place) in self._layout.requantized:
                return self._requantized(index, dtype, self._layout.type_of((layer.outputs[0], dtype)))
            return self._form(index, dtype)
        data = self._data(index)
        if not self._network.is_real_constant(index) or data is None:
            return self._as_it_is(index)
        if place == rule.narrow:
            dtype = DType.S8
        if rule.copies(place):
            kind = self._layout.type_of((layer.outputs[0], dtype))
        else:
            kind = Affine.of(Range.around(float(data.min(initial=0)), float(data.max(initial=0))), dtype)
        return self._constant(index, kind.elements(data), [kind.scale], [kind.zero_point])

    def _weighted(self, layer: Layer, dtype: DType, rule: Rule, weights: Weights) -> list[int]:
        """The inputs of an operator with weights."""
        source = layer.inputs[rule.source]
        kind = self._layout.type_of((source, dtype))
        bias_place = weights.bias if weights.bias < len(layer.inputs) else -1
        bias_index = layer.inputs[bias_place] if bias_place >= 0 else -1
        bias = self._biases.get(layer.index, self._data(bias_index) if bias_index >= 0 else None)
        values = self._constant_of(layer.inputs[weights.place])
        is_int4 = self._layout.choices[layer.index].is_int4
        axis, most = (int4_axis(layer), MOST_INT4) if is_int4 else (weights.axis, MOST_INT8)
        made = quantize_weights(values, axis, bias, kind.scale, _BIAS_TYPES[dtype], most)
        replaced = (rule.source, weights.place, weights.bias)
        inputs = [-1 if place in replaced else self._as_it_is(index) for place, index in enumerate(layer.inputs)]
        inputs[rule.source] = self._form(source, dtype)
        zeros = [0] * len(made.scales)
        inputs[weights.place] = self._constant(
            layer.inputs[weights.place], made.elements, made.scales, zeros, axis=axis or 0, is_int4=is_int4
        )
        if bias is None:
            return inputs
        elements, scales = quantize_bias(bias, kind.scale, made.scales, _BIAS_TYPES[dtype])
        added = self._constant(bias_index, elements, scales, [0] * len(scales), name=f"{layer.index}_bias")
        return [*inputs[: weights.bias], added, *inputs[weights.bias + 1 :]]

    def _recurrent(self, layer: Layer, dtype: DType) -> list[int]:
        """The inputs of an LSTM: weights have one scale each, biases that of the input's sums."""
        source = self._layout.type_of((layer.inputs[0], dtype))
        inputs = [-1] * LSTM_INPUTS
        inputs[0] = self._form(layer.inputs[0], dtype)
        for gate in range(GATES):
            biased, plain = layer.inputs[INPUT_WEIGHTS + gate], layer.inputs[RECURRENT_WEIGHTS + gate]
            bias = self._data(layer.inputs[BIASES + gate])
            for place, index, offset in ((INPUT_WEIGHTS, biased, bias), (RECURRENT_WEIGHTS, plain, None)):
                made = quantize_weights(self._constant_of(index), None, offset, source.scale, _BIAS_TYPES[dtype])
                inputs[place + gate] = self._constant(index, made.elements, made.scales, [0])
                if offset is not None:
                    elements, scales = quantize_bias(offset, source.scale, made.scales, _BIAS_TYPES[dtype])
                    inputs[BIASES + gate] = self._constant(layer.inputs[BIASES + gate], elements, scales, [0])
        for place, form in ((HIDDEN_STATE, dtype), (CELL_STATE, DType.S16)):
            index = layer.inputs[place]
            inputs[place] = self._variable(index, self._layout.type_of((index, form)))
        return inputs

    def _filtered(self, layer: Layer, dtype: DType) -> list[int]:
        """The inputs of an SVDF: each of weights has one scale, the bias that of the sums over time."""
        source = self._layout.type_of((layer.inputs[0], dtype))
        index = layer.inputs[SVDF_STATE]
        state = self._layout.type_of((index, DType.S16))
        features, times, biases = (layer.inputs[place] for place in (FEATURE_WEIGHTS, TIME_WEIGHTS, SVDF_BIAS))
        bias = self._data(biases)
        weights = self._constant_of(times)
        rank = int(layer.attributes.get("rank", 0))  # type: ignore[arg-type] # the schema has a number
        feature = quantize_weights(self._constant_of(features), None, None, source.scale, DType.S32)
        time = quantize_time_weights(weights, rank, bias, state.scale)
        inputs = [
            self._form(layer.inputs[0], dtype),
            self._constant(features, feature.elements, feature.scales, [0]),
            self._constant(times, time.elements, time.scales, [0]),
            -1,
            self._variable(index, state),
        ]
        if bias is not None:
            elements, scales = quantize_bias(bias, state.scale, time.scales, DType.S32)
            inputs[SVDF_BIAS] = self._constant(biases, elements, scales, [0])
        return inputs

    def _variable(self, index: int, kind: Affine) -> int:
        """A variable of integers."""
        shape, name = self._network.graph.tensors[index].type.shape, self._network.records[index].name
        return self._builder.tensor(shape, kind.dtype, kind.scale, kind.zero_point, name=name, variable=True)

    def _constant_of(self, index: int) -> Array:
        data = self._data(index)
        if data is None:
            raise InternalError(f"tensor {index} is no constant")
        return data

    def _constant(
        self,
        index: int,
        elements: Array,
        scales: Sequence[float] | Array,
        zero_points: Sequence[int],
        *,
        axis: int = 0,
        name: str = "",
        is_int4: bool = False,
    ) -> int:
        """A constant of integers, which operators share if they need the same."""
        reals = np.asarray(scales, np.float32)
        key = (index, int4.NAME if is_int4 else str(DType.of(elements)), reals.tobytes() + _bytes(elements))
        if key not in self._constants:
            self._constants[key] = self._builder.constant(
                elements,
                reals.tolist(),
                list(zero_points),
                axis=axis,
                name=name if index < 0 else self._network.records[index].name,
                is_int4=is_int4,
            )
        return self._constants[key]

    def _add_signatures(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        given = dict(zip(self._network.inputs, inputs, strict=True))
        made = dict(zip(self._network.outputs, outputs, strict=True))
        for each in self._network.graph.signatures:
            if each.subgraph:
                self._builder.signature(each.key, each.subgraph, each.inputs, each.outputs)
            elif all(index in given for _, index in each.inputs) and all(index in made for _, index in each.outputs):
                self._builder.signature(
                    each.key,
                    0,
                    [(name, given[index]) for name, index in each.inputs],
                    [(name, made[index]) for name, index in each.outputs],
                )

    def _add_metadata(self) -> None:
        """Copies pieces of metadata; a plan of the float32 model's memory is none of the new one."""
        for name, data in self._network.metadata:
            if name != _PLAN_METADATA:
                self._builder.metadata(name, data)


def _bytes(array: Array) -> bytes:
    return np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()
