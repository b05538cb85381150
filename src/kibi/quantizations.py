"""The function of `import kibi` that quantizes a model."""

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kibi.errors import bounded

if TYPE_CHECKING:
    from kibi.quantization.report import Quantization


@bounded
def quantize(
    model: str | os.PathLike[str],
    data: str | os.PathLike[str] | Callable[[], Iterable[Any]],
    path: str | os.PathLike[str] | None = None,
    *,
    activations: str = "int8",
    weights: str = "int8",
    floats: Collection[str] = (),
    int16: Collection[str] = (),
    int4: Collection[str] = (),
    inputs_and_outputs: str = "integer",
    pixels: str = "0..255",
    calibration_inputs: int = 256,
    truth: str | os.PathLike[str] | None = None,
    labels: Sequence[str] | None = None,
    score: str | None = None,
    most: int | None = None,
    keep_state: bool = False,
    improve: bool = True,
    evaluate: bool = True,
    target: str | None = "cortex-m4",
    ram: int | None = None,
    flash: int | None = None,
    instructions: int | None = None,
    watch: Callable[[str], None] | None = None,
) -> "Quantization":
    """Quantizes a float32 model to integers, with data that show the ranges of its tensors.

    Args:
        model: the file, as for `kibi.load`.
        data: the path of a `.npz` or `.npy` file or of a folder; `module:function` or `file.py:function`; or a function that yields
            inputs, or pairs of input and label: as for `kibi.evaluate`. Values are real numbers.
        path: where to write the `.tflite` file; None: it is only returned.
        activations: `int8`, or `int16` with weights of int8.
        weights: `int8`, or `int4`: half of the flash, and a larger error. CONV_2D and FULLY_CONNECTED of int8 can have int4; other
            weights are int8.
        floats: operators that stay float32: names of kinds (`SOFTMAX`), or of tensors that they make.
        int16: operators that compute int16 while others compute int8, named in the same way.
        int4: operators that compute int8 with weights of int4, named in the same way. Of an operator that several of these three
            name, the most precise one counts.
        inputs_and_outputs: `integer`, or `float32`: the model converts them itself.
        pixels: the real values of pixels, of images and of arrays of uint8: `0..255`, `0..1` or `-1..1`.
        calibration_inputs: how many inputs give the ranges, evenly from all.
        truth: a file with the label of each input, `.npy` or text; None: the labels in the data, if there are any.
        labels: the names of the classes in order; None: they have numbers.
        score: the score of a detector of anomalies, as for `kibi.evaluate`.
        most: how many inputs the evaluation takes at most; None: all.
        keep_state: True if the inputs are a sequence: each inference goes on with the variables of the one before.
        improve: True to try what makes the error of the integers smaller: equalized channels, smaller ranges, shifted biases. False
            takes the ranges of the data and the weights of the file as they are.
        evaluate: False leaves out the evaluation of both models on the data.
        target: the processor on whose emulated core both models are measured; None: they are not.
        ram: the most bytes that the model may take on the target, as `kibi.measure` counts them; None: any. With this or one of the
            next two, the type of each operator is chosen, from float32 down to `activations` and `weights`, so that the model
            fits and loses least. Operators of `floats`, `int16` and `int4` keep theirs.
        flash: the most bytes of flash, in the same way.
        instructions: the most instructions of one inference, in the same way.
        watch: is told what is being done.

    Returns:
        The new file's contents as `data`, and what it costs and loses.

    Raises:
        ModelError: the model is broken, not supported, or quantized already.
        InputError: data, labels or options do not fit the model.
        PlanError: no choice of types fits the limits.
        TargetError: there is no such target, or nothing emulates it.
        ToolchainError: the compiler is missing or fails.
        MismatchError: C code and Python disagree.
        EmulationError: the emulated core stopped.
        OutputError: the file cannot be written; nothing is written before all is done.
    """
    from kibi.errors import InputError  # noqa: PLC0415 - `import kibi` starts nothing heavy, here and below
    from kibi.files import check_path, write_file  # noqa: PLC0415
    from kibi.quantization.job import Job, activations_named, are_int4, run_job  # noqa: PLC0415
    from kibi.quantization.quantizing import Wishes  # noqa: PLC0415
    from kibi.quantization.report import Limits  # noqa: PLC0415

    if inputs_and_outputs not in ("integer", "float32"):
        raise InputError(f"inputs and outputs cannot be {inputs_and_outputs!r}. Give integer or float32.")
    place = None if path is None else check_path(path, "the path of the .tflite file")
    wishes = Wishes(
        activations=activations_named(activations),
        is_int4=are_int4(weights, activations),
        floats=frozenset(floats),
        int16=frozenset(int16),
        int4=frozenset(int4),
        is_float_outside=inputs_and_outputs == "float32",
        keep_state=keep_state,
    )
    job = Job(
        model=Path(model),
        data=data if callable(data) else os.fspath(data),
        truth=None if truth is None else Path(truth),
        labels=labels,
        score=score,
        pixels=pixels,
        calibration_inputs=calibration_inputs,
        most=most,
        wishes=wishes,
        target=target,
        evaluates=evaluate,
        improves=improve,
        limits=Limits(ram, flash, instructions),
    )
    made = run_job(job, watch)
    if place is not None:
        write_file(place, made.data)
    return made
