"""Rewrites of graphs: one in each file, pure, verified."""

from kibi.passes.expose import expose_intermediates

__all__ = ["expose_intermediates"]
