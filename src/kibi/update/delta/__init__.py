"""Deltas: what makes a plan file from an older one, in one pass, in few bytes of RAM."""

from kibi.update.delta.decoding import decode
from kibi.update.delta.encoding import encode

__all__ = ["decode", "encode"]
