"""How a model's weights are stored: as they are, or coded where that saves more flash than the decoder takes."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np

from kibi.ir import KernelCall, NodeView
from kibi.kernels.params import Params
from kibi.kernels.params.layout import Layout
from kibi.selection.fully_connected_rice import FULLY_CONNECTED_RICE, RICE_ACCUMULATE
from kibi.selection.lowered import LoweredGraph, select
from kibi.selection.rice import encode
from kibi.selection.variant import Variant
from kibi.targets import Target

_DECODERS: Mapping[str, Variant] = MappingProxyType({each.of: each for each in (FULLY_CONNECTED_RICE, RICE_ACCUMULATE)})
"""The variants that decode weights, by the general kernel that each replaces."""
_SHARED, _VECTORS, _ROWS = "", FULLY_CONNECTED_RICE.kernel, RICE_ACCUMULATE.kernel
_DECODER_BYTES: Mapping[str, Mapping[str, int]] = MappingProxyType({
    "cortex-m0plus": {_SHARED: 296, _VECTORS: 368, _ROWS: 308},
    "cortex-m3": {_SHARED: 204, _VECTORS: 448, _ROWS: 380},
    "cortex-m4": {_SHARED: 192, _VECTORS: 356, _ROWS: 304},
    "cortex-m7": {_SHARED: 192, _VECTORS: 380, _ROWS: 312},
    "cortex-m33": {_SHARED: 192, _VECTORS: 356, _ROWS: 304},
    **{name: {_SHARED: 352, _VECTORS: 432, _ROWS: 392} for name in ("rv32imc", "rv32imac", "rv32imafc", "hazard3")},
    "": {_SHARED: 296, _VECTORS: 448, _ROWS: 380},
})  # fmt: skip
"""Bytes of flash of the kernels that decode, and of what they share, by the target's name: a test measures them."""


class Weights(StrEnum):
    """The ways in which weights are stored."""

    FLASH = "flash"
    """As their kernels read them."""
    RICE = "rice"
    """As Golomb-Rice codes, where that pays."""


@dataclass(frozen=True, slots=True)
class CodedLayer:
    """A layer with weights, and what coding them changes.

    Attributes:
        node: its place in the planned graph.
        label: how reports name it.
        decoder: C name of the kernel that can decode its weights; empty if no kernel can.
        reads: how often an inference reads each weight.
        raw_bytes: of the parameters and constants that its kernel reads else; where no kernel decodes them, of the weights alone.
        coded_bytes: of the same with coded weights.
        is_coded: True if they are coded.
        reason: why they are not; empty if they are.
    """

    node: int
    label: str
    decoder: str
    reads: int
    raw_bytes: int
    coded_bytes: int
    is_coded: bool
    reason: str = ""

    @property
    def saved_bytes(self) -> int:
        """What coding saves, or would save; below 0 where it takes more."""
        return self.raw_bytes - self.coded_bytes


@dataclass(frozen=True, slots=True)
class CodedWeights:
    """What coding does for a model.

    Attributes:
        layers: those with weights, in the order of nodes.
        decoder_bytes: bytes of code of the kernels that decode.
        kernels: C name of the kernel of each node of the planned graph.
    """

    layers: tuple[CodedLayer, ...]
    decoder_bytes: int
    kernels: tuple[str, ...]

    @property
    def coded(self) -> tuple[CodedLayer, ...]:
        """The layers whose weights are coded."""
        return tuple(layer for layer in self.layers if layer.is_coded)

    @property
    def read_again(self) -> tuple[CodedLayer, ...]:
        """The layers of which an inference reads each weight several times."""
        return tuple(layer for layer in self.layers if layer.reads > 1)

    @property
    def saved_bytes(self) -> int:
        """What their constants save, before the decoder is counted."""
        return sum(layer.saved_bytes for layer in self.coded)

    def to_dict(self) -> dict[str, Any]:
        """Returns the facts as plain data, for JSON."""
        return {
            "layers": [{**asdict(layer), "saved_bytes": layer.saved_bytes} for layer in self.layers],
            "saved_bytes": self.saved_bytes,
            "decoder_bytes": self.decoder_bytes,
        }


def coded_weights(lowered: LoweredGraph) -> CodedWeights:
    """Returns the kernels with which a model's weights are coded where that pays.

    A layer is coded if an inference reads each of its weights once, codes are smaller, and all such layers of its kernel save more
    together than this kernel takes.

    Args:
        lowered: the graph with the kernels that run it else; those of an earlier choice of this function are taken back.
    """
    calls = _without_codes(lowered)
    layers = list(_layers(lowered, calls))
    saved = {
        kernel: sum(layer.saved_bytes for layer in layers if layer.is_coded and layer.decoder == kernel)
        for kernel in sorted({layer.decoder for layer in layers if layer.is_coded})
    }
    used = _worth(saved, lowered.target)
    kernels = [call.kernel for call in calls]
    for number, layer in enumerate(layers):
        if layer.decoder in used and layer.is_coded:
            kernels[layer.node] = layer.decoder
        elif layer.is_coded:
            more = decoder_bytes((*used, layer.decoder), lowered.target) - decoder_bytes(used, lowered.target)
            why = f"the layers save {saved[layer.decoder]:,} bytes, and the decoder takes {more:,}"
            layers[number] = replace(layer, is_coded=False, reason=why)
    return CodedWeights(tuple(layers), decoder_bytes(used, lowered.target), tuple(kernels))


def decoder_bytes(kernels: Collection[str], target: Target) -> int:
    """Returns the bytes of flash that kernels take which decode, with all that they call."""
    known = _DECODER_BYTES.get(target.name, _DECODER_BYTES[""])
    return sum(known[kernel] for kernel in (_SHARED, *kernels)) if kernels else 0


def _worth(saved: Mapping[str, int], target: Target) -> tuple[str, ...]:
    """The kernels that together save the most bytes, less what they take; none where none saves more than it takes."""
    sets = [each for count in range(len(saved) + 1) for each in combinations(saved, count)]
    return max(sets, key=lambda each: sum(saved[kernel] for kernel in each) - decoder_bytes(each, target))


def _without_codes(lowered: LoweredGraph) -> tuple[KernelCall, ...]:
    """The calls, those that decode replaced by what the rules choose."""
    decoders = {each.kernel for each in _DECODERS.values()}
    if decoders.isdisjoint(lowered.kernels):
        return lowered.calls
    ruled = select(lowered.unlowered, lowered.target, lowered.goal).calls
    return tuple(other if call.kernel in decoders else call for call, other in zip(lowered.calls, ruled, strict=True))


def _layers(lowered: LoweredGraph, calls: tuple[KernelCall, ...]) -> Iterator[CodedLayer]:
    for node, (view, call, general) in enumerate(zip(lowered.views, calls, lowered.general_calls, strict=True)):
        weights = general.constants.get("filter")
        if weights is None or weights.dtype != np.int8 or not view.op.macs(view):
            continue
        reads = view.op.macs(view) // weights.size
        variant = _DECODERS.get(general.kernel)
        packed = None if variant is None or reads > 1 else variant.pack(general)
        if packed is not None:
            raw, coded = _flash_bytes(call), _flash_bytes(packed)
            why = "" if coded < raw else "codes are no smaller"
        else:
            raw, coded = weights.size, _codes_bytes(view)
            why = f"an inference reads each weight {reads:,} times" if reads > 1 else "its kernel cannot decode them"
        decoder = "" if packed is None else packed.kernel
        yield CodedLayer(node, view.node.label, decoder, reads, raw, coded, is_coded=not why, reason=why)


def _codes_bytes(view: NodeView) -> int:
    """Bytes of the codes of a layer's weights, channel by channel of the axis that its scales have."""
    weights, axis = view.constant("filter"), view["filter"].quantization.axis
    return encode(np.moveaxis(weights, axis, 0).reshape(weights.shape[axis], -1)).size_bytes


def _flash_bytes(call: KernelCall) -> int:
    """Bytes of the arrays and the struct that a kernel reads."""
    return Layout.of(type(call.params_as(Params))).size_bytes + call.constant_bytes
