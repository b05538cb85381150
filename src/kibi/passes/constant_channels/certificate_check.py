"""Checks a certificate of removed channels against both graphs; shares no step with the pass that made it.

What is proven: each constant holds for all inputs (`interval_check`); what is left of each layer has the old weights, and the
sums of products of what was dropped are the same number everywhere and are in the bias; all other nodes carry channels along one
by one, and lose the same ones on all sides; model inputs and outputs keep all channels.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.errors import KibiError, MismatchError
from kibi.ir import Graph, NodeView, Quantization, Tensor, TensorType, verify
from kibi.ops.linear.fully_connected import FullyConnected
from kibi.ops.windows.conv2d import Conv2D
from kibi.ops.windows.depthwise_conv2d import DepthwiseConv2D
from kibi.passes.constant_channels.certificate import Certificate, Removal
from kibi.passes.constant_channels.interval_check import Ends, checked_ends

Mask = NDArray[np.bool_]
Values = NDArray[np.int64]

_BY_ELEMENT = frozenset({"RESHAPE", "RELU", "RELU6", "LOGISTIC", "QUANTIZE"})
"""Operators whose output has the input's elements in order, maybe in another shape."""
_BY_CHANNEL = frozenset({"ADD", "MUL", "MAX_POOL_2D", "AVERAGE_POOL_2D"})


def check_certificate(before: Graph, after: Graph, certificate: Certificate) -> None:
    """Checks that a graph without some channels gives the same bits as the one with all of them.

    Args:
        before: the graph with all channels.
        after: the graph without those that the certificate names.
        certificate: which channels are gone, and what the constant ones hold.

    Raises:
        MismatchError: a claim does not hold, or the graph is not what the removal of those channels gives.
    """
    try:
        verify(after)
    except KibiError as error:
        raise _broken(f"the graph without channels is no valid graph: {error}") from error
    checker = _Checker(before, after, certificate)
    checker.outline()
    checker.claims()
    for old, new in zip(before.views, after.views, strict=True):
        checker.node(old, new)


def _broken(what: str) -> MismatchError:
    """Returns the error, with what to do."""
    return MismatchError(
        f"certificate of constant channels: {what}. Do not use the graph without them; if Kibi made both, report it."
    )


class _Checker:
    """The two graphs, and for each tensor the channels that stay and the values of the removed ones."""

    def __init__(self, before: Graph, after: Graph, certificate: Certificate) -> None:
        self.before, self.after, self.certificate = before, after, certificate
        self.gone: dict[int, dict[int, Removal]] = {}
        for removal in certificate.removals:
            self.gone.setdefault(removal.tensor, {})[removal.channel] = removal
        if sum(map(len, self.gone.values())) != len(certificate.removals):
            raise _broken("it names a channel twice")

    def kept(self, tensor: Tensor) -> Mask:
        """Which channels of a tensor stay."""
        mask = np.ones(_channels(tensor), np.bool_)
        mask[list(self.gone.get(tensor.index, ()))] = False
        return mask

    def outline(self) -> None:
        """Checks that nodes and tensors differ in channels only, and that inputs, outputs and state keep all channels."""
        old, new = self.before, self.after
        if (old.inputs, old.outputs, len(old.nodes)) != (new.inputs, new.outputs, len(new.nodes)):
            raise _broken("inputs, outputs or the number of operators differ")
        for index, removals in self.gone.items():
            tensor = old.tensors[index] if 0 <= index < len(old.tensors) else None
            whole = tensor is None or tensor.is_constant or tensor.is_state or tensor.is_external
            if tensor is None or whole or index in (*old.inputs, *old.outputs):
                raise _broken(f"tensor {index} must keep all its channels")
            if not all(0 <= channel < _channels(tensor) for channel in removals) or not self.kept(tensor).any():
                raise _broken(f"tensor {index} has no such channels, or none is left")
        if len(new.tensors) < len(old.tensors):
            raise _broken("tensors are missing")
        for tensor in old.tensors:
            if not tensor.is_constant:
                self._same_but_for_channels(tensor, new.tensors[tensor.index])

    def _same_but_for_channels(self, old: Tensor, new: Tensor) -> None:
        """Checks that a computed tensor differs only in the removed channels."""
        shape = old.type.shape
        if old.index in self.gone:
            shape = (*shape[:-1], int(self.kept(old).sum()))
        if new != replace(old, type=replace(old.type, shape=shape)) or new.is_constant:
            raise _broken(f"tensor {old.index} ({old.name!r}) is not what is left of it")

    def claims(self) -> None:
        """Checks the channels that are claimed to be constant, by intervals that are computed here."""
        if not any(removal.is_constant for removal in self.certificate.removals):
            return
        found = checked_ends(self.before)
        for removal in self.certificate.removals:
            if removal.is_constant and not _holds(removal, found.get(removal.tensor)):
                raise _broken(
                    f"channel {removal.channel} of tensor {removal.tensor} is not always {removal.values[:3]}"
                )

    def node(self, old: NodeView, new: NodeView) -> None:
        """Checks that a node is the old one without the removed channels."""
        if (old.op, old.node.source, old.node.outputs) != (new.op, new.node.source, new.node.outputs):
            raise _broken(f"{old.node.label} has become another")
        if not any(each is not None and each.index in self.gone for _, each in old.operands):
            if not _same_operands(old, new):
                raise _broken(f"{old.node.label} loses no channels, but reads something else")
        elif type(old.op) in (Conv2D, DepthwiseConv2D, FullyConnected):
            self._layer(old, new)
        else:
            self._carrier(old, new)

    def _carrier(self, old: NodeView, new: NodeView) -> None:
        """Checks that a node that carries channels one by one loses the same ones in all inputs and its output."""
        output = old.output
        left = self._elements(output)
        for name in old.row_names:
            source, other = old[name], new[name]
            if source.is_constant:
                fits = _same_constant(source, other, self.kept(output) if _channels(source) > 1 else slice(None))
            elif old.op.name in _BY_ELEMENT:
                fits = np.array_equal(self._elements(source), left)
            else:
                fits = np.array_equal(self.kept(source), self.kept(output))
            if not fits or (source.index != other.index and not source.is_constant):
                raise _broken(f"{old.node.label} does not lose the same channels of {name!r} and of its output")
        if not self._is_carrier(old) or not all(
            _same_constant(old[name], new[name], slice(None)) for name in ("axes", "paddings") if _has(old, name)
        ):
            raise _broken(f"{old.node.label} mixes channels, so that none can go")

    def _is_carrier(self, view: NodeView) -> bool:
        """True if each output channel depends only on the input channels with the same number."""
        name = view.op.name
        if name == "MEAN":
            rank = len(view["input"].type.shape)
            return rank - 1 not in {int(axis) % rank for axis in view.constant("axes").reshape(-1)}
        if name == "PAD":
            return not view.constant("paddings")[-1].any()
        return name in _BY_ELEMENT or name in _BY_CHANNEL

    def _elements(self, tensor: Tensor) -> Mask:
        """True for each element of a tensor, in order, that stays."""
        return np.resize(self.kept(tensor), tensor.type.elements)

    def _layer(self, old: NodeView, new: NodeView) -> None:
        """Checks a layer's filter without the removed channels, and its bias with their contribution."""
        source, inputs, outputs = old["input"], self.kept(old["input"]), self.kept(old.output)
        weights = old.constant("filter")
        axis = 3 if type(old.op) is DepthwiseConv2D else 0
        added: Values | int = 0
        if type(old.op) is DepthwiseConv2D:
            fits = np.array_equal(np.repeat(inputs, weights.shape[3] // len(inputs)), outputs)
            left: Array = weights[..., outputs]
        else:
            depth = weights.shape[-1]
            fits = depth % len(inputs) == 0 or bool(inputs.all() and outputs.all())
            features = np.resize(inputs, depth)
            left = weights[outputs][..., features]
            if fits and not features.all():
                added = self._added(old, weights[outputs], features)
        if type(old.op) is Conv2D and weights.shape[3] != len(inputs):
            fits = bool(inputs.all() and outputs.all())
        if not fits or source.index != new["input"].index:
            raise _broken(f"{old.node.label} does not multiply channels that can go one by one")
        if (
            not _has_data(new["filter"], left)
            or _scales(old["filter"], outputs, axis) != new["filter"].type.quantization
        ):
            raise _broken(f"the filter of {old.node.label} is not what is left of it")
        bias = new.find("bias")
        is_whole = bias is None or (
            bias.data is not None and bias.data.dtype == np.int32 and bias.data.size == outputs.sum()
        )
        if not is_whole or not np.array_equal(_bias(old)[outputs] + added, _bias(new)):
            raise _broken(f"the bias of {old.node.label} does not hold what the channels that went have added")

    def _added(self, view: NodeView, weights: Array, features: Mask) -> Values:
        """Returns `[O]`: the contribution of the removed channels, which must be the same at all positions.

        Args:
            view: the node before the removal.
            weights: `[O, …, F]` of the output channels that stay.
            features: `[F]`: true for the features that stay.
        """
        source = view["input"]
        zero_point = source.quantization.zero_point
        values = np.full(source.type.shape, zero_point, np.int64)
        for channel, removal in self.gone[source.index].items():
            if removal.is_constant:
                values[..., channel] = np.resize(np.array(removal.values), values.shape[:-1])
            elif weights[..., channel :: len(self.kept(source))].any():
                raise _broken(f"{view.node.label} multiplies channel {channel}, which is said to be unused")
        dropped = np.where(features, 0, weights.astype(np.int64))
        patches = _windows(view, values - zero_point)
        sums = np.unique(patches.reshape(len(patches), -1) @ dropped.reshape(len(dropped), -1).T, axis=0)
        if len(sums) != 1:
            raise _broken(f"what {view.node.label} adds for constant channels differs from place to place")
        total: Values = sums[0]
        return total


def _windows(view: NodeView, centred: Values) -> Values:
    """Returns the distinct windows that a layer multiplies, `[windows, …]`; zeros outside the input."""
    op = view.op
    depth = view["filter"].type.shape[-1]
    if not isinstance(op, Conv2D):
        return np.unique(centred.reshape(-1, depth), axis=0)
    columns = []
    for axis in (0, 1):
        size, kernel, count = (each.type.shape[1 + axis] for each in (view["input"], view["filter"], view.output))
        first = op.padding.along(axis).before(size, kernel, op.stride[axis], op.dilation[axis], count)
        place = np.arange(count)[:, None] * op.stride[axis] - first + np.arange(kernel) * op.dilation[axis]
        columns.append(np.where((place >= 0) & (place < size), place, size))
    # One row and one column of zeros represent all that is outside.
    framed = np.pad(centred, ((0, 0), (0, 1), (0, 1), (0, 0)))
    # Neighbouring windows are mostly equal: rows are compared first, so that few windows are left to multiply.
    bands = np.unique(framed[:, columns[0]].reshape(-1, columns[0].shape[1], *framed.shape[2:]), axis=0)
    tiles = bands[:, :, columns[1]].transpose(0, 2, 1, 3, 4)
    return np.unique(tiles.reshape(-1, *tiles.shape[2:]), axis=0)


def _holds(removal: Removal, ends: Ends | None) -> bool:
    """True if both bounds of a channel's elements equal the claimed values."""
    if ends is None:
        return False
    low, high = (end.reshape(-1, end.shape[-1])[:, removal.channel].astype(np.int64) for end in ends)
    if len(removal.values) not in (1, len(low)):
        return False
    return bool((low == np.array(removal.values)).all() and (high == np.array(removal.values)).all())


def _channels(tensor: Tensor) -> int:
    return tensor.type.shape[-1] if tensor.type.shape else 1


def _has(view: NodeView, name: str) -> bool:
    """True if an operator has such an operand."""
    return any(operand == name for operand, _ in view.operands)


def _same_operands(old: NodeView, new: NodeView) -> bool:
    """True if two nodes read the same tensors, with the same elements in constants."""
    if old.node.inputs != new.node.inputs:
        return False
    pairs = zip(old.operands, new.operands, strict=True)
    return all(
        first == second and (first is None or first.data is None or _has_data(second, first.data))
        for (_, first), (_, second) in pairs
    )


def _same_constant(old: Tensor, new: Tensor, kept: Mask | slice) -> bool:
    """True if a constant has the old elements of the channels that stay, and the old scale."""
    return (
        old.data is not None and _has_data(new, old.data[..., kept]) and old.type.quantization == new.type.quantization
    )


def _has_data(tensor: Tensor | None, data: Array) -> bool:
    """True if a tensor has these elements, in this shape."""
    return (
        tensor is not None
        and tensor.data is not None
        and tensor.data.dtype == data.dtype
        and tensor.type == TensorType(data.shape, tensor.type.dtype, tensor.type.quantization)
        and np.array_equal(tensor.data, data)
    )


def _scales(tensor: Tensor, kept: Mask, axis: int) -> Quantization:
    """Returns the scales of the filter's channels that stay."""
    old = tensor.quantization
    if not old.is_per_channel:
        return old
    rows = np.flatnonzero(kept).tolist()
    return Quantization(tuple(old.scales[k] for k in rows), tuple(old.zero_points[k] for k in rows), axis)


def _bias(view: NodeView) -> Values:
    """Returns a layer's bias; zeros if it has none."""
    if view.find("bias") is None:
        return np.zeros(_channels(view.output), np.int64)
    values: Values = view.constant("bias").reshape(-1).astype(np.int64)
    return values
