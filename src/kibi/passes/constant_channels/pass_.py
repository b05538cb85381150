"""The pass `constant-channels`: channels that cannot depend on the model's inputs, and channels that nobody uses.

Exact intervals (`intervals`) tell which channels hold the same values for every input. A layer that multiplies such a channel
adds the same number each time, which goes into the bias. At padded borders the number may differ from position to position;
then the channel stays. A channel that each of its readers multiplies by zero is removed, too. Channels that operators carry
along one by one are removed or kept together (`classes`).
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kibi.ir import Graph
from kibi.passes.change import Change
from kibi.passes.constant_channels.certificate import Certificate, Removal
from kibi.passes.constant_channels.certificate_check import check_certificate
from kibi.passes.constant_channels.classes import ChannelClasses
from kibi.passes.constant_channels.intervals import Interval, intervals, is_affordable
from kibi.passes.constant_channels.product_layer import Int64, ProductLayer
from kibi.passes.constant_channels.reasons import explained
from kibi.passes.constant_channels.removal import remove_channels

Mask = NDArray[np.bool_]
_MOST_LOOKS = 1 << 20
"""The limit of comparisons between a class and a layer that reads it; no further round begins after that."""


@dataclass(frozen=True, slots=True)
class Folding:
    """A graph without constant and unused channels.

    Attributes:
        graph: the graph; the one that was given if no channel goes.
        changes: what was done to which node, and why it keeps the bits.
        certificate: every channel that is gone, for `check_certificate`.
    """

    graph: Graph
    changes: tuple[Change, ...]
    certificate: Certificate


@dataclass(frozen=True, slots=True, eq=False)
class _Reader:
    """A layer that multiplies channels by weights: a removed channel's contribution can go into its bias.

    Attributes:
        place: of its node in the graph.
        outputs: the class of each output channel.
        matters: for each class that it reads, `[O]`: true if the output channel depends on more of it than a constant sum.
        shares: for each such class, `[O]`: that number.
    """

    place: int
    outputs: Int64
    matters: dict[int, Mask]
    shares: dict[int, Int64]


def fold_constant_channels(graph: Graph, only: Collection[tuple[int, int]] | None = None) -> Folding:
    """Remove all channels that are constant and can be folded into biases, and all that are unused.

    Args:
        graph: a verified graph.
        only: tensors and channels that may go; None: any.

    Returns:
        The graph that gives the same bits, with each removal's reason. Names and indices of tensors and nodes stay; a constant
        that several nodes read, and a bias where there was none, is added after all tensors.
    """
    if not is_affordable(graph) or only == ():
        return Folding(graph, (), Certificate())
    layers = tuple(ProductLayer.of(view) for view in graph.views)
    classes = ChannelClasses.of(graph, layers)
    if classes.is_pinned.all():  # nothing can be removed: the bounds, which take time, are not needed
        return Folding(graph, (), Certificate())
    bounds = intervals(graph)
    readers = [
        _reader(place, layer, classes, bounds[layer.view["input"].index])
        for place, layer in enumerate(layers)
        if layer is not None and not layer.is_depthwise and layer.view["input"].index in classes.numbers
    ]
    gone = _removable(classes, readers, _allowed(classes, only))
    kept = {index: ~gone[numbers] for index, numbers in classes.numbers.items() if gone[numbers].any()}
    if not kept:
        return Folding(graph, (), Certificate())
    shares = {reader.place: _total(reader, gone) for reader in readers}
    made = remove_channels(graph, kept, shares)
    certificate = Certificate(tuple(_removals(kept, bounds)))
    return Folding(made, explained(graph, made, kept, bounds), certificate)


def checked_folding(graph: Graph, only: Collection[tuple[int, int]] | None = None) -> Folding:
    """`fold_constant_channels`, whose certificate was checked.

    Raises:
        MismatchError: the certificate does not hold, by a bug of Kibi's own.
    """
    folding = fold_constant_channels(graph, only)
    if folding.changes:
        check_certificate(graph, folding.graph, folding.certificate)
    return folding


def drop_constant_channels(graph: Graph) -> tuple[Graph, tuple[Change, ...]]:
    """The same as a pass among others: the graph and what was done.

    Raises:
        MismatchError: as `checked_folding`.
    """
    folding = checked_folding(graph)
    return folding.graph, folding.changes


def _reader(place: int, layer: ProductLayer, classes: ChannelClasses, source: Interval) -> _Reader:
    """Returns what each class of a layer's input adds to each of its output channels."""
    tensor = layer.view["input"]
    numbers = np.resize(classes.numbers[tensor.index], layer.features)
    low, high = layer.centred(source.low), layer.centred(source.high)
    fixed = (low == high).reshape(-1, layer.features).all(axis=0)
    silent = fixed & (low == 0).reshape(-1, layer.features).all(axis=0)
    used: Mask = (layer.weights != 0).any(axis=(0, 1))
    outputs = layer.weights.shape[-1]
    matters, shares = {}, {}
    for number in np.unique(numbers[~classes.is_pinned[numbers]]).tolist():
        members = numbers == number
        depends = used[members & ~fixed].any(axis=0)
        share = np.zeros(outputs, np.int64)
        known = members & fixed & ~silent
        if known.any():
            sums = layer.sums(low[..., known], layer.weights[:, :, known])
            # Channels whose sums may overflow stay: a bias that wraps could change the result.
            depends |= (sums != sums[0]).any(axis=0) | (used[known].any(axis=0) & ~layer.is_safe)
            share = sums[0].astype(np.int64)
        matters[number], shares[number] = depends, share
    return _Reader(place, classes.numbers[layer.view.output.index], matters, shares)


def _allowed(classes: ChannelClasses, only: Collection[tuple[int, int]] | None) -> Mask:
    """Returns the classes that may go: with `only`, those all of whose channels it names."""
    allowed = ~classes.is_pinned
    if only is not None:
        named = frozenset(only)
        for index, numbers in classes.numbers.items():
            for channel, number in enumerate(numbers.tolist()):
                allowed[number] &= (index, channel) in named
    return allowed


def _removable(classes: ChannelClasses, readers: list[_Reader], allowed: Mask) -> Mask:
    """Returns the classes to remove, of those that may go: no remaining output depends on them.

    Each tensor keeps at least one channel.
    """
    count = len(classes.is_pinned)
    gone = np.zeros(count, np.bool_)
    reading: list[list[_Reader]] = [[] for _ in range(count)]
    for reader in readers:
        for number in reader.matters:
            reading[number].append(reader)
    left = {index: len(numbers) for index, numbers in classes.numbers.items()}
    members: list[dict[int, int]] = [{} for _ in range(count)]
    for index, numbers in classes.numbers.items():
        for number in numbers.tolist():
            members[number][index] = members[number].get(index, 0) + 1
    candidates = np.flatnonzero(allowed).tolist()
    changed, work = True, 0
    while changed and work < _MOST_LOOKS:
        changed = False
        for number in candidates:
            if gone[number]:
                continue
            work += 1 + len(reading[number])
            if any((each.matters[number] & ~gone[each.outputs]).any() for each in reading[number]):
                continue
            if all(left[index] > size for index, size in members[number].items()):
                gone[number] = changed = True
                for index, size in members[number].items():
                    left[index] -= size
    return gone


def _total(reader: _Reader, gone: Mask) -> Int64:
    """Returns `[O]`: the contribution of the removed classes; 0 for output channels that are removed themselves."""
    total = sum(
        (share for number, share in reader.shares.items() if gone[number]), np.zeros(len(reader.outputs), np.int64)
    )
    return np.where(gone[reader.outputs], 0, total)


def _removals(kept: dict[int, Mask], bounds: dict[int, Interval]) -> list[Removal]:
    """Returns the certificate's entries, by tensor and channel."""
    found = []
    for index, stays in sorted(kept.items()):
        fixed = bounds[index].is_fixed
        low = bounds[index].low.reshape(-1, len(stays))
        for channel in np.flatnonzero(~stays).tolist():
            values = tuple(low[:, channel].tolist()) if fixed[channel] else ()
            found.append(Removal(index, channel, values[:1] if len(set(values)) == 1 else values))
    return found
