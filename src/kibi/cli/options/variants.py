"""The plans that a comparison makes of a model."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kibi.cli.options.planning import DEFAULTS, PlanOptions

VARIANTS: Final[Mapping[str, PlanOptions]] = MappingProxyType({
    "by the tensor": PlanOptions(granularity="tensor"),
    "by the row": PlanOptions(granularity="row"),
    "by the row, input streamed": PlanOptions(granularity="row", input="streamed"),
})  # fmt: skip
"""The arguments of `kibi.plan` by the variant's name, one variant on each line."""
MEASURED: Final[Mapping[str, PlanOptions]] = MappingProxyType({
    **VARIANTS,
    "by the row, for speed": PlanOptions(granularity="row", goal="speed"),
    "by the row, for flash": PlanOptions(granularity="row", goal="flash"),
    "by the row, MACs up to 1.1": PlanOptions(granularity="row", recompute=1.1),
})  # fmt: skip
"""The same where code is measured, too: kernels without scratch may need less RAM than fast ones."""


def chosen_variants(given: PlanOptions) -> Mapping[str, PlanOptions]:
    """Returns the variants that agree with the given options, with all other options added; at least one.

    Args:
        given: options that a user gave; none restricts nothing.
    """
    chosen = {
        name: PlanOptions(**{**given, **options})
        for name, options in VARIANTS.items()
        if all(options.get(key, DEFAULTS.get(key)) == value for key, value in given.items() if key in _AXES)
    }
    return chosen or {_name(given): given}


_AXES = ("granularity", "input")
"""The options in which variants differ."""


def _name(options: PlanOptions) -> str:
    """The name of options that no variant has."""
    every = {**DEFAULTS, **options}
    way = every["input"]
    return f"by the {every['granularity']}" + ("" if way == DEFAULTS["input"] else f", input {way}")
