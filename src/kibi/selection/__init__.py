"""Chooses the kernel for each node of a graph on a core: general kernels, and variants for some cores and layers (one per file)."""

from kibi.selection.choice import candidates, choose, goal_named
from kibi.selection.lowered import LoweredGraph, select
from kibi.selection.room import (
    RoomyGraph,
    apart_call,
    call_with_room,
    call_without_copy,
    frugal_kernels,
    narrower_call,
    useful_scratch_bytes,
    with_room,
)
from kibi.selection.streams import read_bytes, times_read
from kibi.selection.variant import PARTS, Goal, Variant
from kibi.selection.weights import CodedLayer, CodedWeights, Weights, coded_weights
from kibi.selection.wide_rows import wide_call

__all__ = [
    "PARTS",
    "CodedLayer",
    "CodedWeights",
    "Goal",
    "LoweredGraph",
    "RoomyGraph",
    "Variant",
    "Weights",
    "apart_call",
    "call_with_room",
    "call_without_copy",
    "candidates",
    "choose",
    "coded_weights",
    "frugal_kernels",
    "goal_named",
    "narrower_call",
    "read_bytes",
    "select",
    "times_read",
    "useful_scratch_bytes",
    "wide_call",
    "with_room",
]
