"""Chooses the kernel that runs a node."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from kibi.errors import InputError, InternalError
from kibi.ir import KernelCall
from kibi.selection.add_linear import ADD_LINEAR
from kibi.selection.conv2d_3x3x1 import CONV2D_3X3X1
from kibi.selection.conv2d_blocks import CONV2D_BLOCKS, CONV2D_INT4_BLOCKS
from kibi.selection.conv2d_columns import CONV2D_COLUMNS
from kibi.selection.conv2d_halves import CONV2D_HALVES
from kibi.selection.conv2d_pieces import CONV2D_PIECES
from kibi.selection.conv2d_s16_3x3x1 import CONV2D_S16_3X3X1
from kibi.selection.conv2d_s16_blocks import CONV2D_S16_BLOCKS
from kibi.selection.conv2d_vector_rows import CONV2D_VECTOR_ROWS
from kibi.selection.conv2d_vectors import CONV2D_VECTORS, FULLY_CONNECTED_VECTORS
from kibi.selection.conv2d_winograd import CONV2D_WINOGRAD
from kibi.selection.depthwise_3x3 import DEPTHWISE_3X3
from kibi.selection.depthwise_columns import DEPTHWISE_COLUMNS
from kibi.selection.depthwise_multiplied import DEPTHWISE_MULTIPLIED
from kibi.selection.depthwise_multiplied_wide import DEPTHWISE_MULTIPLIED_WIDE
from kibi.selection.depthwise_s16_blocks import DEPTHWISE_S16_BLOCKS
from kibi.selection.depthwise_vectors import DEPTHWISE_VECTORS
from kibi.selection.fully_connected_blocks import FULLY_CONNECTED_BLOCKS
from kibi.selection.fully_connected_halves import FULLY_CONNECTED_HALVES
from kibi.selection.fully_connected_int4_blocks import FULLY_CONNECTED_INT4_BLOCKS
from kibi.selection.fully_connected_nonzero import FULLY_CONNECTED_NONZERO
from kibi.selection.fully_connected_rice import FULLY_CONNECTED_RICE, RICE_ACCUMULATE
from kibi.selection.host_lanes import HOST_LANES
from kibi.selection.least_flash import choose_least_flash
from kibi.selection.lstm_blocks import LSTM_BLOCKS
from kibi.selection.odd_channels import ODD_CHANNELS
from kibi.selection.repeated_runs import REPEATED_RUNS
from kibi.selection.svdf_blocks import SVDF_BLOCKS
from kibi.selection.variant import Goal, Variant
from kibi.targets import Target

VARIANTS: tuple[Variant, ...] = (
    CONV2D_VECTORS,
    FULLY_CONNECTED_VECTORS,
    DEPTHWISE_VECTORS,
    *CONV2D_VECTOR_ROWS,
    CONV2D_3X3X1,
    CONV2D_WINOGRAD,
    CONV2D_COLUMNS,
    CONV2D_BLOCKS,
    CONV2D_PIECES,
    CONV2D_INT4_BLOCKS,
    CONV2D_S16_3X3X1,
    *CONV2D_S16_BLOCKS,
    *DEPTHWISE_3X3,
    DEPTHWISE_COLUMNS,
    *DEPTHWISE_MULTIPLIED,
    *DEPTHWISE_MULTIPLIED_WIDE,
    DEPTHWISE_S16_BLOCKS,
    FULLY_CONNECTED_NONZERO,
    *FULLY_CONNECTED_BLOCKS,
    *FULLY_CONNECTED_INT4_BLOCKS,
    LSTM_BLOCKS,
    *SVDF_BLOCKS,
    REPEATED_RUNS,
    *ODD_CHANNELS,
    *ADD_LINEAR,
    *HOST_LANES,
    CONV2D_HALVES,
    *FULLY_CONNECTED_HALVES,
    FULLY_CONNECTED_RICE,
    RICE_ACCUMULATE,
)
"""All variants; of several that fit a layer, the first is taken."""


def goal_named(name: str) -> Goal:
    """The goal of that name; `ram` is an older word for `balanced`.

    Raises:
        InputError: no goal has that name; the text lists those that exist.
    """
    if name == "ram":
        return Goal.BALANCED
    try:
        return Goal(name)
    except ValueError:
        known = ", ".join(each.value for each in Goal)
        raise InputError(f"nothing can be optimized for {name!r}. It can be for: {known}.") from None


def candidates(
    call: KernelCall, target: Target, goal: Goal, *, every: bool = False, on_request: bool = False
) -> tuple[KernelCall, ...]:
    """The calls that may replace a general call on a target: each variant that fits, and the call itself, last.

    Args:
        call: the general call.
        target: the processor.
        goal: only variants that serve it.
        every: the other variants, too; the goal then says how much scratch they may take.
        on_request: those, too, that only a plan's own list of kernels can name.
    """
    requested = (
        packed
        for variant in VARIANTS
        if on_request and variant.on_request and _is_for(variant, call, target)
        for packed in [_packed(variant, call, goal)]
        if packed is not None
    )
    return (*requested, *_fitting(call, target, goal, every=every))


def choose(calls: Sequence[KernelCall], target: Target, goal: Goal) -> tuple[KernelCall, ...]:
    """Returns, for each general call of a model, the candidate that serves the goal, without measuring.

    For speed, and balanced, that is the first one. Balanced code has one kernel of each kind: if one layer takes a variant, no
    layer takes another that gives way to it. For flash it is the one with which the whole model is smallest.
    """
    if goal is Goal.FLASH:
        every = [tuple(_fitting(call, target, goal)) for call in calls]
        return choose_least_flash(every, _first([iter(each) for each in every], Goal.BALANCED), target)
    return _first([_fitting(call, target, goal) for call in calls], goal)


def _first(fitting: Sequence[Iterator[KernelCall]], goal: Goal) -> tuple[KernelCall, ...]:
    """The first candidate of each layer; for balanced code another one where the first gives way."""
    first = [next(each) for each in fitting]
    taken = {call.kernel for call in first if call.kernel}
    yielding = {each.kernel for each in VARIANTS if goal is Goal.BALANCED and each.gives_way_to in taken}
    return tuple(
        next(each for each in chain([chosen], others) if each.kernel not in yielding)
        for chosen, others in zip(first, fitting, strict=True)
    )


def _fitting(call: KernelCall, target: Target, goal: Goal, *, every: bool = False) -> Iterator[KernelCall]:
    """The candidates one after another, each packed only when it is asked for; arguments as of `candidates`."""
    for variant in VARIANTS:
        if _is_for(variant, call, target) and not variant.on_request and (every or goal in variant.goals):
            packed = _packed(variant, call, goal)
            if packed is not None:
                yield packed
    yield call


def _is_for(variant: Variant, call: KernelCall, target: Target) -> bool:
    return variant.of == call.kernel and variant.kernel_set in target.kernel_sets


def _packed(variant: Variant, call: KernelCall, goal: Goal) -> KernelCall | None:
    """Returns the variant's call, after a check of its scratch and steps; None if the variant refuses the layer."""
    most_bytes = max(call.scratch_bytes, variant.scratch_bytes(call, goal))
    packed = variant.pack(call if most_bytes == call.scratch_bytes else replace(call, scratch_bytes=most_bytes))
    if packed is None:
        return None
    if packed.scratch_bytes > most_bytes or packed.takes_step != call.takes_step:
        raise InternalError(f"{variant.kernel} takes more scratch than it was given, or other steps than {call.kernel}")
    return packed
