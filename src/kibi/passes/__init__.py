"""Rewrites of graphs: one in each file, pure, verified."""

from kibi.passes.expose import expose_intermediates
from kibi.passes.reorder import reorder
from kibi.passes.stream_inputs import stream_inputs
from kibi.passes.supply_tensors import supply_tensors

__all__ = ["expose_intermediates", "reorder", "stream_inputs", "supply_tensors"]
