"""The error of each layer, and what to do about those that lose most."""

import shlex
from collections.abc import Mapping

import numpy as np

from kibi.dtypes import DType
from kibi.quantization.layer import Layer
from kibi.quantization.noise import Energy, lost_decibels
from kibi.quantization.quantizing import Model
from kibi.quantization.report import FloatOperator, LayerFigures
from kibi.quantization.rules import RULES, Scales

_MUCH_DB = 6.0
_FEW = 3
_UNEVEN = 8.0


def layer_figures(model: Model, noise: Mapping[int, Energy]) -> tuple[LayerFigures, ...]:
    """The figures of all operators that both models compute, with an advice for the few that lose most.

    Args:
        model: the quantized model.
        noise: of its tensors, by their indices in the float32 model.
    """
    layers = [layer for layer in model.network.layers if layer.outputs and layer.outputs[0] in noise]
    lost = {layer.index: lost_decibels(layer.inputs, layer.outputs[0], noise) for layer in layers}
    most = sorted(lost, key=lambda index: -lost[index])[:_FEW]
    return tuple(
        LayerFigures(
            operator=layer.index,
            name=layer.name,
            output=model.network.records[layer.outputs[0]].name,
            dtype=str(model.choices[layer.index].dtype or DType.F32),
            decibels=noise[layer.outputs[0]].decibels,
            lost_decibels=lost[layer.index],
            advice=_advice(model, layer) if layer.index in most and lost[layer.index] > _MUCH_DB else "",
            is_int4=model.choices[layer.index].is_int4,
        )
        for layer in layers
    )


def _advice(model: Model, layer: Layer) -> str:
    """What to do about a layer that loses much; empty if nothing can be done."""
    rule, dtype = RULES.get(layer.name), model.choices[layer.index].dtype
    is_chosen = layer.index in model.wishes.chosen  # a more precise type does not fit the limits
    if rule is None or rule.scales is Scales.FIXED or dtype in (None, DType.F32) or is_chosen:
        return ""
    name = shlex.quote(model.network.records[layer.outputs[0]].name.split(";")[0])
    steps = [f"keep it float32 (--float {name})"]
    if dtype is DType.S8:
        steps.insert(0, f"give it int16 (--int16 {name})")
    if model.choices[layer.index].is_int4:
        steps.insert(0, "keep its weights int8 (name the others with --int4)")
    uneven = _unevenness(model, layer.outputs[0])
    if uneven > _UNEVEN:
        return f"the range of its widest channel is {uneven:.0f} times that of the median one; {', or '.join(steps)}"
    return ", or ".join(steps)


def _unevenness(model: Model, index: int) -> float:
    """The span of the widest channel of a tensor over that of the median one, of those that are not constant."""
    channels, factors = model.seen.get(index), model.changes.factors.get(index)
    if channels is None:
        return 1.0
    channels = channels if factors is None else channels.times(factors)
    spans = np.maximum(channels.highs, 0) - np.minimum(channels.lows, 0)
    spans = spans[spans > 0]
    return float(spans.max() / np.median(spans)) if spans.size else 1.0


def float_operators(model: Model) -> tuple[FloatOperator, ...]:
    """The operators that stay float32."""
    return tuple(
        FloatOperator(layer.index, layer.name, model.network.name_of(layer), choice.reason)
        for layer in model.network.layers
        if (choice := model.choices[layer.index]).dtype is DType.F32
    )
