"""Which kernel runs a node."""

from kibi.errors import InternalError
from kibi.ir import KernelCall
from kibi.targets import Target
from kibi.variants.conv2d_blocks import CONV2D_BLOCKS
from kibi.variants.variant import Goal, Variant

VARIANTS: tuple[Variant, ...] = (CONV2D_BLOCKS,)
"""All variants; of several that fit a layer, the first is taken."""


def candidates(call: KernelCall, target: Target) -> tuple[KernelCall, ...]:
    """The calls that may stand for a general call on a target: each variant that fits, and the call itself, last."""
    packed = (_packed(variant, call) for variant in VARIANTS if _is_for(variant, call, target))
    return (*(each for each in packed if each is not None), call)


def choose(call: KernelCall, target: Target, goal: Goal) -> KernelCall:
    """The first candidate that serves the goal without measuring."""
    for variant in VARIANTS:
        if goal in variant.goals and _is_for(variant, call, target):
            packed = _packed(variant, call)
            if packed is not None:
                return packed
    return call


def _is_for(variant: Variant, call: KernelCall, target: Target) -> bool:
    return variant.of == call.kernel and variant.kernel_set in target.kernel_sets


def _packed(variant: Variant, call: KernelCall) -> KernelCall | None:
    """The variant's call, checked against what the plan knows of the general one."""
    packed = variant.pack(call)
    if packed is None:
        return None
    if packed.scratch_bytes > call.scratch_bytes or packed.takes_step != call.takes_step:
        raise InternalError(f"{variant.kernel} does not keep to what {call.kernel} is planned with")
    return packed
