"""Explains in words why channels were removed: one sentence for each node that lost some."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kibi.ir import Graph, NodeView
from kibi.passes.change import Change
from kibi.passes.constant_channels.intervals import Interval
from kibi.passes.constant_channels.product_layer import ProductLayer

Mask = NDArray[np.bool_]

NAME = "constant-channels"
"""The pass, on the command line and in `Change.by`."""
_SHOWN = 8
"""Channels that a sentence lists by number; the certificate lists all."""


def explained(
    before: Graph, after: Graph, kept: Mapping[int, Mask], bounds: Mapping[int, Interval]
) -> tuple[Change, ...]:
    """Returns a change for each node that lost weights or computes less, in the order of the nodes.

    Args:
        before: the graph with all channels.
        after: the graph without some; its nodes are at the same places.
        kept: for each tensor that lost channels, by index, which of them stay.
        bounds: the range of the elements of each s8 tensor of `before`.
    """
    changes = []
    for old, new in zip(before.views, after.views, strict=True):
        layer, saved = ProductLayer.of(old), _bytes(old) - _bytes(new)
        if layer is None:
            if saved:
                what = "Its constants hold nothing any more for channels that are gone."
                changes.append(Change(NAME, old.node.label, what, weights_bytes=saved))
            continue
        source, output = kept.get(old["input"].index), kept.get(old.output.index)
        if source is None and output is None:
            continue
        sentences = [] if output is None else [_outputs(layer, output, bounds[old.output.index])]
        if source is not None and not layer.is_depthwise:
            sentences.append(_inputs(source, bounds[old["input"].index]))
        macs = old.op.macs(old) - new.op.macs(new)
        changes.append(Change(NAME, old.node.label, f"{'; '.join(sentences)}.", macs, saved))
    return tuple(changes)


def _outputs(layer: ProductLayer, kept: Mask, made: Interval) -> str:
    """Describes which output channels of a layer were removed, and why."""
    low, high = made.low.reshape(-1, len(kept)), made.high.reshape(-1, len(kept))
    weighted: Mask = (layer.weights != 0).reshape(-1, len(kept)).any(axis=0)
    reasons: Counter[str] = Counter()
    gone = np.flatnonzero(~kept).tolist()
    for channel in gone:
        reasons[_reason(layer, low[:, channel], high[:, channel], has_weights=bool(weighted[channel]))] += 1
    texts = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
    return f"{_counted(len(gone), len(kept), 'output')}: {texts}; {_listed(gone)}"


def _reason(layer: ProductLayer, low: NDArray[np.int64], high: NDArray[np.int64], *, has_weights: bool) -> str:
    """Returns why one output channel is not needed, as words that follow a count."""
    value = int(low[0])
    if (low != high).any():
        return "used by nobody"
    if not has_weights:
        return "with only zero weights"
    if (low != value).any():
        return "with the same values at each inference"
    if value in (layer.scaling.low, layer.scaling.high):
        return f"always clamped at {value}"
    return f"always {value}"


def _inputs(kept: Mask, read: Interval) -> str:
    """Describes which input channels of a layer were removed, and why."""
    constant = int((read.is_fixed & ~kept).sum())
    unused = int((~kept).sum()) - constant
    texts = [f"{constant} constant, and folded into the bias"] if constant else []
    texts += [f"{unused} multiplied by zero alone"] if unused else []
    return f"{_counted(constant + unused, len(kept), 'input')}: {', '.join(texts)}"


def _counted(gone: int, count: int, side: str) -> str:
    """Describes how many channels were removed."""
    return f"{gone} of {count} {side} channels {'is' if gone == 1 else 'are'} gone"


def _listed(channels: Sequence[int]) -> str:
    """Lists the first few channels by number."""
    more = len(channels) - _SHOWN
    shown = ", ".join(map(str, channels[:_SHOWN]))
    name = "channel" if len(channels) == 1 else "channels"
    return f"{name} {shown} and {more} more" if more > 0 else f"{name} {shown}"


def _bytes(view: NodeView) -> int:
    """Bytes of the constants that a node reads."""
    return sum(tensor.type.size_bytes for _, tensor in view.operands if tensor is not None and tensor.is_constant)
