"""Processors, as data: `target("cortex-m4")`, `targets()`."""

from kibi.targets.target import Target, Timing, target, targets

__all__ = ["Target", "Timing", "target", "targets"]
