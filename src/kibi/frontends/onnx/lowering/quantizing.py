"""QuantizeLinear and DequantizeLinear: they say what integers mean, and mostly become no operator."""

from collections.abc import Mapping

from kibi.dtypes import DType
from kibi.frontends.onnx.draft import Quantization, Tensor
from kibi.frontends.onnx.emitter import ELEMENTS, Emitter
from kibi.frontends.onnx.graph import Node
from kibi.frontends.onnx.lowering.entry import Lowering
from kibi.frontends.onnx.problems import Unsupported
from kibi.frontends.onnx.scales import has_full_range, stored_integers
from kibi.frontends.onnx.targets import INTEGERS, meant


def _quantize(e: Emitter, node: Node) -> None:
    name, result = node.inputs[0], node.outputs[0]
    kind = e.graph.values[result].kind
    goal = meant(e, node, kind)
    if goal.is_per_channel:
        raise Unsupported(
            "it quantizes each channel of what is computed by itself", "Quantize activations with one scale"
        )
    if goal.dtype not in INTEGERS or not has_full_range(kind):
        raise Unsupported(f"it makes {kind} of what is computed", "Quantize activations to int8, uint8 or int16")
    if goal.dtype is DType.S16 and goal.zero_point:
        raise Unsupported("it makes 16-bit integers with a zero point", "Quantize 16-bit activations symmetrically")
    stored = e.unscrambled(e.stored(name)) if e.stored(name).tensor.quantization != goal else e.stored(name)
    tensor = stored.tensor
    if tensor.quantization != goal:
        tensor = e.add("QUANTIZE", [tensor], tensor.shape, goal.dtype, goal)
    e.give(result, tensor, stored.order, stored.scramble)


def _dequantize(e: Emitter, node: Node) -> None:
    name, result = node.inputs[0], node.outputs[0]
    kind = e.graph.values[name].kind
    meaning = meant(e, node, kind)
    data = e.graph.data(name)
    if data is not None:
        e.give(result, Tensor(tuple(data.shape), meaning.dtype, meaning, stored_integers(kind, data)))
        return
    stored = e.stored(name)
    if stored.tensor.quantization == meaning:
        e.give(result, stored.tensor, stored.order, stored.scramble)
        return
    stored = e.unscrambled(stored)
    if stored.tensor.quantization is not None:
        # The same integers mean something else from here on.
        if meaning.is_per_channel or stored.tensor.dtype is not meaning.dtype:
            raise Unsupported("it reads integers of another type, or gives each channel a scale", "Quantize again")
        copy = e.add(
            "RESHAPE", [stored.tensor, e.numbers(stored.tensor.shape)], stored.tensor.shape, meaning.dtype, meaning
        )
        e.give(result, copy, stored.order)
        return
    e.give(result, _from_numbers(e, stored.tensor, kind, meaning), stored.order)


def _from_numbers(e: Emitter, tensor: Tensor, kind: str, meaning: Quantization) -> Tensor:
    """What computed integers without a scale mean, as f32."""
    if meaning.is_per_channel or kind not in ELEMENTS:
        raise Unsupported("it gives each channel of computed integers a scale", "Quantize activations with one scale")
    shift = 128 if kind == "UINT8" else 0
    real = e.add("CAST", [tensor], tensor.shape, DType.F32)
    zero = e.real_number(float(meaning.zero_point + shift))
    moved = e.add("SUB", [real, zero], tensor.shape, DType.F32) if meaning.zero_point + shift else real
    return e.add("MUL", [moved, e.real_number(meaning.scale)], tensor.shape, DType.F32)


QUANTIZING: Mapping[str, Lowering] = {
    "QuantizeLinear": Lowering(_quantize, ("QUANTIZE",), True, "Scales are constants; of activations there is one."),
    "DequantizeLinear": Lowering(
        _dequantize, ("DEQUANTIZE",), True, "Scales are constants; scales of blocks belong to constants."
    ),
}
"""By ONNX's name of the operator."""
