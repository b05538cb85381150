"""Rewrites of graphs: one in each file, pure, verified."""

from kibi.passes.change import Change
from kibi.passes.expose import expose_intermediates
from kibi.passes.reorder import reorder
from kibi.passes.simplify import PASSES, Pass, Simplified, simplify
from kibi.passes.stream_inputs import stream_inputs
from kibi.passes.supply_tensors import supply_tensors

__all__ = [
    "PASSES",
    "Change",
    "Pass",
    "Simplified",
    "expose_intermediates",
    "reorder",
    "simplify",
    "stream_inputs",
    "supply_tensors",
]
