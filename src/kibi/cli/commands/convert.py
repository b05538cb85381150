"""`kibi convert`: a model of any kind as a `.tflite` file."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from kibi.cli.options.common import AsJson, ModelPath
from kibi.cli.options.ends import QuantizedOutputs, ends_of
from kibi.cli.options.paths import given_path
from kibi.cli.terminal import byte_text, facts, output, print_json, say
from kibi.errors import InputError

_LARGEST_SIZE = 1 << 31


def convert(
    model: ModelPath,
    *,
    path: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The .tflite file to write.", parser=given_path, show_default=False
        ),
    ],
    shape: Annotated[
        list[str] | None,
        typer.Option(
            "--shape",
            metavar="INPUT=N,N,…",
            help="The shape of an input whose sizes the model leaves open, in its own order of axes.",
            show_default=False,
        ),
    ] = None,
    input_mode: Annotated[
        str | None,
        typer.Option(
            "--input",
            metavar="I",
            help="quantized: integers where the model quantizes its float32 input.",
            show_default=False,
        ),
    ] = None,
    quantized_outputs: QuantizedOutputs = False,
    as_json: AsJson = False,
) -> None:
    """Write a model of any kind that Kibi reads as a .tflite file that TensorFlow Lite Micro reads, too.

    Data come into the file, weights of float16 and of hybrid operators become float32. Nothing is quantized;
    with --input quantized, a QUANTIZE of an input goes, and its integers are the input.
    """
    import kibi  # noqa: PLC0415 - verbs pay for what they use

    ends = ends_of(input_mode, quantized_outputs)
    if ends.handover is not None:
        raise InputError(f"--input {ends.handover}: a file says nothing of that. Give quantized, or leave it out.")
    found = kibi.convert(
        model,
        path,
        shapes=_shapes(shape or []),
        quantized_inputs=ends.inputs,
        quantized_outputs=ends.outputs,
    )
    counts = {"buffers_inlined": found.inlined, "float16_constants": found.float16, "hybrid_constants": found.hybrid}
    if as_json:
        print_json({"file": str(path), "bytes": len(found.data), **counts, "notes": list(found.notes)})
        return
    console = output()
    changes = [
        (found.inlined, "buffers were stored after the flatbuffer, and are inside now"),
        (found.float16, "constants of float16 became float32"),
        (found.hybrid, "constants of hybrid operators became float32"),
    ]
    lines = [*(f"{count:,} {what}" for count, what in changes if count), *found.notes]
    facts(
        console,
        [
            ("file", f"{path}, {byte_text(len(found.data))}"),
            *(("changed" if number == 0 else "", line) for number, line in enumerate(lines)),
        ],
    )
    say(console)
    say(console, f"What it takes on a device: kibi plan {shlex.quote(str(path))}")


def _shapes(options: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The shapes that were given, by the names of inputs.

    Raises:
        InputError: one is not of the form INPUT=N,N,…
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for option in options:
        name, _, sizes = option.rpartition("=")
        parts = sizes.split(",")
        if not name or not all(part.isascii() and part.isdigit() and 0 < int(part) < _LARGEST_SIZE for part in parts):
            raise InputError(f"--shape {option}: give the name of an input and its sizes, for instance x=1,3,96,96")
        shapes[name] = tuple(int(part) for part in parts)
    return shapes
