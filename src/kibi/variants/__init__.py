"""Kernels for some cores and some layers that stand for the general ones where they are faster: one in each file."""

from kibi.variants.choice import candidates, choose, goal_named
from kibi.variants.variant import Goal, Variant

__all__ = ["Goal", "Variant", "candidates", "choose", "goal_named"]
