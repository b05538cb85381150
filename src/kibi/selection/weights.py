"""How a model's weights are stored: as they are, or coded where that saves more flash than the decoder takes."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from kibi.errors import InputError
from kibi.ir import KernelCall, NodeView
from kibi.kernels.params import Params
from kibi.kernels.params.layout import Layout
from kibi.selection.fully_connected_rice import FULLY_CONNECTED_RICE, pack
from kibi.selection.lowered import LoweredGraph, select
from kibi.selection.rice import encode

_DECODER_BYTES = {"cortex-m0plus": 660, "cortex-m3": 648, "cortex-m4": 548, "cortex-m7": 564, "cortex-m33": 548}
"""Bytes of flash of the kernel that decodes, with all that it calls, by the target's name: a test measures them."""


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
        reads: how often an inference reads each weight.
        raw_bytes: of the parameters and constants that its kernel reads else; where no kernel decodes them, of the weights alone.
        coded_bytes: of the same with coded weights.
        is_coded: True if they are coded.
        reason: why they are not; empty if they are.
    """

    node: int
    label: str
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
        decoder_bytes: bytes of code of the kernel that decodes.
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


def weights_named(name: str) -> Weights:
    """The way of that name.

    Raises:
        InputError: none has it; the text lists those that exist.
    """
    try:
        return Weights(name)
    except ValueError:
        known = ", ".join(each.value for each in Weights)
        raise InputError(f"weights cannot be stored as {name!r}. They can be as: {known}.") from None


def coded_weights(lowered: LoweredGraph) -> CodedWeights:
    """Returns the kernels with which a model's weights are coded where that pays.

    A layer is coded if an inference reads each of its weights once, and codes are smaller. All of these are, or none: together
    they must save more than the code of the decoder.

    Args:
        lowered: the graph with the kernels that run it else; those of an earlier choice of this function are taken back.
    """
    calls = _without_codes(lowered)
    decoder_bytes = _DECODER_BYTES.get(lowered.target.name, max(_DECODER_BYTES.values()))
    layers = list(_layers(lowered, calls))
    saved = sum(layer.saved_bytes for layer in layers if layer.is_coded)
    if saved <= decoder_bytes:
        why = f"the layers save {saved:,} bytes, and the decoder takes {decoder_bytes:,}"
        layers = [replace(layer, is_coded=False, reason=why) if layer.is_coded else layer for layer in layers]
    kernels = [call.kernel for call in calls]
    for layer in layers:
        if layer.is_coded:
            kernels[layer.node] = FULLY_CONNECTED_RICE.kernel
    return CodedWeights(tuple(layers), decoder_bytes, tuple(kernels))


def _without_codes(lowered: LoweredGraph) -> tuple[KernelCall, ...]:
    """The calls, those that decode replaced by what the rules choose."""
    if FULLY_CONNECTED_RICE.kernel not in lowered.kernels:
        return lowered.calls
    ruled = select(lowered.unlowered, lowered.target, lowered.goal).calls
    return tuple(
        other if call.kernel == FULLY_CONNECTED_RICE.kernel else call
        for call, other in zip(lowered.calls, ruled, strict=True)
    )


def _layers(lowered: LoweredGraph, calls: tuple[KernelCall, ...]) -> Iterator[CodedLayer]:
    for node, (view, call, general) in enumerate(zip(lowered.views, calls, lowered.general_calls, strict=True)):
        weights = general.constants.get("filter")
        if weights is None or weights.dtype != np.int8 or not view.op.macs(view):
            continue
        reads = view.op.macs(view) // weights.size
        if general.kernel == FULLY_CONNECTED_RICE.of and reads == 1:
            raw, coded = _constant_bytes(call), _constant_bytes(pack(general))
            why = "" if coded < raw else "codes are no smaller"
        else:
            raw, coded = weights.size, _codes_bytes(view)
            why = f"an inference reads each weight {reads:,} times" if reads > 1 else "its kernel cannot decode them"
        yield CodedLayer(node, view.node.label, reads, raw, coded, is_coded=not why, reason=why)


def _codes_bytes(view: NodeView) -> int:
    """Bytes of the codes of a layer's weights, channel by channel of the axis that its scales have."""
    weights, axis = view.constant("filter"), view["filter"].quantization.axis
    return encode(np.moveaxis(weights, axis, 0).reshape(weights.shape[axis], -1)).size_bytes


def _constant_bytes(call: KernelCall) -> int:
    """Bytes of the arrays and the struct that a kernel reads."""
    struct = Layout.of(type(call.params_as(Params))).size_bytes
    return struct + sum(data.nbytes for data in call.constants.values())
