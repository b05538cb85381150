"""The model in a file of any kind that Kibi reads, as the bytes of a `.tflite` file."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from kibi.errors import ModelError
from kibi.frontends.containers import ContainerError, arrays, chosen, members
from kibi.frontends.exporters import exported, exporter_of, is_saved_model
from kibi.frontends.formats import Kind, describe, kind_of
from kibi.frontends.source import read_source
from kibi.frontends.tflite.normal_form import NormalForm, normal_form


def read_model(path: str | os.PathLike[str]) -> bytes:
    """The model in a file, as the bytes of a `.tflite` file that TFLM reads too: `read_model_file` says more of it.

    Raises:
        ModelError: as `read_model_file`.
    """
    return read_model_file(path).data


def read_model_file(path: str | os.PathLike[str], shapes: Mapping[str, Sequence[int]] | None = None) -> NormalForm:
    """The model in a file, in the form that TFLM reads.

    Args:
        path: a `.tflite` file, C source with its bytes as an array, or a zip archive with one of them. Where there are several
            models, the name of one follows after a slash: `models.zip/folder/model.tflite`, `models.h/array`. A Keras model or
            the folder of a SavedModel, where TensorFlow is installed; a program of torch.export, where PyTorch is; an ONNX model,
            where the library `onnx` is.
        shapes: of inputs by name, where a model leaves sizes open, in its own order of axes.

    Raises:
        ModelError: the file cannot be read, is of no kind that Kibi reads, or has no model, or several; or the model cannot have
            the shapes that are given.
        ToolchainError: the framework or library that converts it is not installed.
    """
    place, name = divided(path)
    data = b"" if is_saved_model(place) else read_source(place)
    exporter = exporter_of(place, data)
    if exporter is not None and not name:
        data = exported(exporter, place)
    if kind_of(data, os.fspath(place)) is Kind.ONNX and not name:
        return _of_onnx(data, os.fspath(place), shapes or {})
    try:
        found = normal_form(_inside(data, name, os.fspath(place)))
    except ContainerError as error:
        raise ModelError(os.fspath(path), [error.problem]) from error
    return _with_shapes(found, shapes, os.fspath(path)) if shapes else found


def with_integer_ends(found: NormalForm, source: str, inputs: bool, outputs: bool) -> NormalForm:
    """The model with integers at its float32 inputs or outputs.

    Args:
        found: the model.
        source: the file's name, for errors.
        inputs: True to take integers at each float32 input.
        outputs: True to give integers at each float32 output.

    Raises:
        ModelError: an input or output cannot be integers; the text names the operator that takes or makes it as float32.
    """
    if not (inputs or outputs):
        return found
    from kibi.frontends.tflite.quantized_ends import with_quantized_ends  # noqa: PLC0415 - few models need it

    data, count = with_quantized_ends(found.data, source, inputs=inputs, outputs=outputs)
    notes = (f"inputs and outputs that are integers now: {count:,}",) if count else ()
    return replace(found, data=data, notes=(*found.notes, *notes))


def _with_shapes(found: NormalForm, shapes: Mapping[str, Sequence[int]], path: str) -> NormalForm:
    from kibi.frontends.tflite.given_shapes import with_shapes  # noqa: PLC0415 - few models need it

    data, count = with_shapes(found.data, shapes, path)
    notes = (f"shapes that follow from those that were given: {count:,}",) if count else ()
    return replace(found, data=data, notes=(*found.notes, *notes))


def _of_onnx(data: bytes, path: str, shapes: Mapping[str, Sequence[int]]) -> NormalForm:
    """An ONNX model as a `.tflite` file, and what its user may want to know."""
    from kibi.frontends.onnx import convert  # noqa: PLC0415 - it takes a while to import

    found = convert(data, path, shapes)
    return NormalForm(found.data, notes=found.lines())


def divided(path: str | os.PathLike[str]) -> tuple[Path, str]:
    """The path of a file, and the name of the model in it, which may follow it after a slash; the name is empty if none does."""
    whole = Path(path)
    with suppress(OSError, ValueError):  # the path is impossible: the code that reads it says why
        for place in whole.parents:
            if place.is_file() and not whole.exists():
                return place, whole.relative_to(place).as_posix()
    return whole, ""


def can_be_read_again(path: str | os.PathLike[str]) -> bool:
    """True for a file or a folder, and for a model inside of a file; false for what comes through a pipe."""
    place, _ = divided(path)
    return place.is_file() or is_saved_model(place)


def _inside(data: bytes, name: str, path: str) -> bytes:
    """The bytes of the `.tflite` file in a file, or of the only one.

    Raises:
        ContainerError: the file is damaged, or has none of that name, or several.
        ModelError: it has no model.
    """
    kind = kind_of(data, path)
    if kind is Kind.TFLITE and not name:
        return data
    found = members(data) if kind is Kind.ZIP else arrays(data) if kind is Kind.C_SOURCE else []
    if not found and kind is Kind.TFLITE:
        raise ContainerError(
            f"it is a .tflite file, which has no models inside, and none named {name!r}", f"Give {path}"
        )
    if not found:
        raise ModelError(path, [describe(data, path)])
    return chosen(found, name, path, "members" if kind is Kind.ZIP else "arrays").read()
