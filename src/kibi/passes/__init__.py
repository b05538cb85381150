"""Rewrites of graphs: one in each file, pure, verified."""

from kibi.passes.expose import expose_intermediates
from kibi.passes.reorder import reorder

__all__ = ["expose_intermediates", "reorder"]
