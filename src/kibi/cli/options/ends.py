"""`--input quantized` and `--quantized-outputs`: float32 inputs and outputs as the integers that the model computes with."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

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
    def words(self) -> list[str]:
        """The words of a command line that say the same, but for the handover."""
        return [
            *(["--input", _QUANTIZED] if self.inputs else []),
            *(["--quantized-outputs"] if self.outputs else []),
        ]


def ends_of(input_mode: str | None, quantized_outputs: bool) -> Ends:
    """What `--input` and `--quantized-outputs` say.

    Args:
        input_mode: the value of `--input`: `quantized`, a way of handing over, or both with a comma.
        quantized_outputs: the flag.
    """
    parts = [] if input_mode is None else input_mode.split(",")
    ways = [part for part in parts if part != _QUANTIZED]
    return Ends(",".join(ways) or None, _QUANTIZED in parts, quantized_outputs)
