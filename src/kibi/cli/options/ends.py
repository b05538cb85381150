"""`--input quantized` and `--quantized-outputs`: float32 inputs and outputs as the integers that the model computes with."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from kibi.errors import PlanError

_QUANTIZED = "quantized"

QuantizedOutputs = Annotated[
    bool,
    typer.Option("--quantized-outputs", help="Give the integers before DEQUANTIZE, in place of float32 outputs."),
]


@dataclass(frozen=True, slots=True)
class Ends:
    """What the options say of a model's inputs and outputs.

    Attributes:
        handover: how inputs are handed over; None where the command line does not say it.
        inputs: True if float32 inputs become integers.
        outputs: True if float32 outputs do.
    """

    handover: str | None
    inputs: bool
    outputs: bool

    def model(self, path: Path) -> Path:
        """The model with these inputs and outputs: the given file, or a copy in the cache.

        Raises:
            ModelError: the file cannot be read, or an input or output cannot be integers.
            ToolchainError: the copy cannot be written.
        """
        if not (self.inputs or self.outputs):
            return path
        from kibi.toolchain.model_copies import integer_ends_copy  # noqa: PLC0415 - verbs pay for what they use

        return integer_ends_copy(path, inputs=self.inputs, outputs=self.outputs)

    @property
    def value(self) -> str | None:
        """The value of `--input` that says the same; None where it need not be given."""
        parts = [*([_QUANTIZED] if self.inputs else []), *([self.handover] if self.handover else [])]
        return ",".join(parts) or None


def ends_of(input_mode: str | None, quantized_outputs: bool) -> Ends:
    """What `--input` and `--quantized-outputs` say.

    Args:
        input_mode: the value of `--input`: `quantized`, a way of handing over, or both with a comma.
        quantized_outputs: the flag.

    Raises:
        PlanError: inputs cannot be handed over so.
    """
    parts = [] if input_mode is None else input_mode.split(",")
    ways = [part for part in parts if part != _QUANTIZED]
    if ways:
        _check_ways(ways)
    return Ends(ways[0] if ways else None, _QUANTIZED in parts, quantized_outputs)


def _check_ways(ways: list[str]) -> None:
    """Checks that inputs are handed over in one way.

    Raises:
        PlanError: no way has such a name, or there are several.
    """
    from kibi.planner.plan import Handover  # noqa: PLC0415

    known = ", ".join(Handover)
    unknown = next((way for way in ways if way not in list(Handover)), None)
    if unknown is not None:
        raise PlanError(
            f"inputs cannot be {unknown!r}. They can be: {known}; and {_QUANTIZED}, also with a comma beside one."
        )
    if len(ways) > 1:
        raise PlanError(f"inputs cannot be {' and '.join(ways)} at once. Give one of: {known}.")
