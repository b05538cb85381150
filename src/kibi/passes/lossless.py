"""Runs all passes that keep the bits, in order, until none finds anything more."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from kibi.errors import InputError
from kibi.ir import Graph, verify
from kibi.ops import Pad
from kibi.passes import (
    activation_into_producer,
    append_in_place,
    assign_in_place,
    identity,
    identity_quantize,
    into_table,
    join_depthwise,
    moves_nothing,
    pad_into_window,
    reshape_to_nothing,
    shortcut_pixels,
    unused,
)
from kibi.passes.change import Change
from kibi.passes.constant_channels import reasons as channel_reasons
from kibi.passes.constant_channels.pass_ import checked_folding, drop_constant_channels

ALL = "all"
"""The name that means all passes in a list of passes to leave out."""
_MOST_SEEN = 100_000
"""The limit of nodes visited in all rounds. Real models need two or three rounds; contrived ones need one per node."""

Channels: TypeAlias = tuple[tuple[int, int], ...]
"""Channels that a call of the pass `constant-channels` removed: of each the tensor, and its number before."""


@dataclass(frozen=True, slots=True)
class Pass:
    """A rewrite after which the model's outputs are the same, bit by bit, for every input.

    Attributes:
        name: on the command line, and in `Change.by`.
        description: one line on what it does.
        apply: from a verified graph to a graph and the changes made; the same graph if it changes nothing. Indices of
            tensors stay, new constants come after them, and inputs and outputs are the same.
    """

    name: str
    description: str
    apply: Callable[[Graph], tuple[Graph, tuple[Change, ...]]]


PASSES: tuple[Pass, ...] = (
    Pass(
        channel_reasons.NAME,
        "Channels that do not depend on the input go into biases; channels that nobody uses are removed.",
        drop_constant_channels,
    ),
    Pass(
        identity_quantize.NAME,
        "QUANTIZE that changes nothing is left out; changes of scale in a row become one.",
        identity_quantize.join_quantizations,
    ),
    Pass(
        identity.NAME,
        "Operators that give back what they are given are left out: an addition of zeros, a padding by nothing.",
        identity.drop_identities,
    ),
    Pass(
        activation_into_producer.NAME,
        "RELU, RELU6 and other clamps become the activation of the operator before them.",
        activation_into_producer.fuse_activations,
    ),
    Pass(
        into_table.NAME,
        "Operators that compute one 8-bit element from one other, such as LOGISTIC and MUL, become a table.",
        into_table.join_into_tables,
    ),
    Pass(
        pad_into_window.NAME,
        "PAD becomes the border of the convolutions and poolings after it.",
        pad_into_window.fold_pads,
    ),
    Pass(
        join_depthwise.NAME,
        "Depthwise convolutions of parts of one tensor, whose outputs are concatenated, become one.",
        join_depthwise.join_depthwise,
    ),
    Pass(
        moves_nothing.NAME,
        "Slices of everything, concatenations of one input and their like become RESHAPEs.",
        moves_nothing.name_reshapes,
    ),
    Pass(
        reshape_to_nothing.NAME,
        "RESHAPE is left out between operators that do not depend on the shape.",
        reshape_to_nothing.drop_reshapes,
    ),
    Pass(
        assign_in_place.NAME,
        "ASSIGN_VARIABLE is left out where the operator before it can write to the variable itself.",
        assign_in_place.assign_in_place,
    ),
    Pass(
        unused.NAME,
        "Operators whose results nobody reads are left out.",
        unused.drop_unused,
    ),
    Pass(
        append_in_place.NAME,
        "A variable to which rows are appended holds them, too, and moves along in its own bytes.",
        append_in_place.append_in_place,
    ),
    Pass(
        shortcut_pixels.NAME,
        "On a shortcut, pixels that a 1x1 convolution uses wait in the place of its output, which is larger.",
        shortcut_pixels.copy_shortcut_pixels,
    ),
)
"""The passes in the order in which they run."""


@dataclass(frozen=True, slots=True)
class Simplified:
    """A graph after the passes.

    Attributes:
        graph: the graph. Its tensors keep their indices; some are no longer made by any node.
        changes: what was done, in order.
        channels: what each call of the pass `constant-channels` removed.
        missing: channels that were to go, as in another model, and had to stay.
        without: names of passes that were left out, ascending.
    """

    graph: Graph
    changes: tuple[Change, ...]
    channels: tuple[Channels, ...] = ()
    missing: Channels = ()
    without: tuple[str, ...] = ()


@dataclass(slots=True)
class _ChannelCalls:
    """The calls of the pass `constant-channels` in one simplification.

    Attributes:
        like: what the calls may remove, in order, as in another model; None: whatever they can.
        channels: what they have removed.
        missing: what they should have removed, and could not.
    """

    like: Sequence[Channels] | None
    channels: list[Channels] = field(default_factory=list)
    missing: list[tuple[int, int]] = field(default_factory=list)

    def apply(self, graph: Graph) -> tuple[Graph, tuple[Change, ...]]:
        """The pass."""
        only = None
        if self.like is not None:
            only = self.like[len(self.channels)] if len(self.channels) < len(self.like) else ()
        folding = checked_folding(graph, only)
        removed = tuple((each.tensor, each.channel) for each in folding.certificate.removals)
        self.missing += sorted(set(only or ()) - set(removed))
        self.channels.append(removed)
        return folding.graph, folding.changes


def simplify(
    graph: Graph,
    without: Collection[str] = (),
    keep: Collection[int] = (),
    like: Sequence[Channels] | None = None,
    *,
    goal: str = "balanced",
) -> Simplified:
    """Applies all lossless passes, and repeats them while one enables another.

    Args:
        graph: a verified graph.
        without: names of passes to leave out, or `all`.
        keep: tensors that must stay, with the same bits, for instance because they are in external buffers.
        like: the `channels` of another model of the same structure: the same channels go here, and no others.
        goal: what the model is to be planned for, as for `kibi.plan`. For `speed`, `pad-into-window`, which always saves flash, is
            left out where the model takes more instructions with it, by estimate; for `speed` and `flash`, `shortcut-pixels`,
            which takes both for less RAM.

    Raises:
        InputError: there is no pass of a name.
    """
    if goal != "balanced" and ALL not in without and shortcut_pixels.may_apply(graph):
        without = {*without, shortcut_pixels.NAME}
    if goal == "speed" and ALL not in without and any(isinstance(node.op, Pad) for node in graph.nodes):
        padded = simplify(graph, {*without, pad_into_window.NAME}, keep, like)
        if pad_into_window.saved_instructions(padded.graph) < 0:
            return padded
    calls = _ChannelCalls(like)
    chosen = [
        replace(each, apply=calls.apply) if each.name == channel_reasons.NAME else each
        for each in passes_without(without)
    ]
    made = {index for node in graph.nodes for index in node.outputs}
    kept = tuple(index for index in keep if index in made)
    # No pass removes an output of the model.
    after = replace(graph, outputs=tuple(dict.fromkeys((*graph.outputs, *kept))))
    changes: list[Change] = []
    seen = 0
    grows = True
    while grows and seen <= _MOST_SEEN:
        before = len(changes)
        seen += len(after.nodes)
        for each in chosen:
            after, found = each.apply(after)
            changes += found
        grows = len(changes) > before
    left = verify(replace(after, outputs=graph.outputs)) if changes else graph
    return Simplified(left, tuple(changes), tuple(calls.channels), tuple(calls.missing), tuple(sorted(set(without))))


def passes_without(names: Collection[str]) -> tuple[Pass, ...]:
    """Returns the passes that are not named, in order.

    Raises:
        InputError: there is no pass of a name.
    """
    known = [each.name for each in PASSES]
    unknown = [name for name in names if name not in (*known, ALL)]
    if unknown:
        raise InputError(f"there is no pass {unknown[0]!r} to leave out. Passes are: {', '.join(known)}; or say {ALL}.")
    return () if ALL in names else tuple(each for each in PASSES if each.name not in names)
