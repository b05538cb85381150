"""The functions of `import kibi` for models of other kinds: `.tflite` files of them, and PyTorch's modules in memory."""

import importlib.util
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kibi.errors import InputError, ToolchainError, bounded

if TYPE_CHECKING:
    from kibi.frontends.tflite.normal_form import NormalForm
    from kibi.ir import Graph


@bounded
def convert(
    model: str | os.PathLike[str],
    path: str | os.PathLike[str] | None = None,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    quantized_inputs: bool = False,
    quantized_outputs: bool = False,
) -> "NormalForm":
    """Converts a model of any kind that `kibi.load` reads to a `.tflite` file that TFLM reads, too.

    The file means what the model means, and nothing is quantized. A `.tflite` file that needs no change is copied.

    Args:
        model: the file, as for `kibi.load`.
        path: where to write; None: nowhere.
        shapes: of inputs, by name and in its own order of axes, where a model leaves sizes open.
        quantized_inputs: True to take integers at each float32 input: those that a QUANTIZE makes of it.
        quantized_outputs: True to give integers at each float32 output: those of which a DEQUANTIZE makes it.

    Returns:
        The contents of the file as `data`, how many constants changed their form, and `notes` of what else changed.

    Raises:
        ModelError: the file is missing, broken, or asks for what Kibi does not support; nothing is written then.
        OutputError: the file cannot be written.
    """
    from kibi.files import check_path, write_file  # noqa: PLC0415 - functions pay for what they use
    from kibi.frontends.model_file import read_model_file, with_integer_ends  # noqa: PLC0415
    from kibi.frontends.tflite import parse_tflite  # noqa: PLC0415

    place = None if path is None else check_path(path, "the path of the .tflite file")
    found = with_integer_ends(read_model_file(model, shapes), Path(model).name, quantized_inputs, quantized_outputs)
    parse_tflite(found.data, Path(model).name)
    if place is not None:
        write_file(place, found.data)
    return found


@bounded
def from_torch(module: Any, example: Sequence[Any], path: str | os.PathLike[str] | None = None) -> "Graph":
    """The graph of a PyTorch module: torch.export traces it, as it computes outside of training.

    Args:
        module: a `torch.nn.Module`. It is not changed.
        example: one tensor for each of its inputs, of the shapes that the model shall have.
        path: where to write the model as a `.tflite` file; None: nowhere. The graph is then loaded from it, so that
            `kibi.verify` can compare with TFLM.

    Raises:
        ToolchainError: PyTorch, or what it needs to export, is not installed.
        InputError: the module cannot be traced with this example.
        ModelError: the model cannot be converted, or asks for what Kibi does not support.
        OutputError: the file cannot be written.
    """
    from kibi.api import load  # noqa: PLC0415 - functions pay for what they use
    from kibi.files import temporary_folder  # noqa: PLC0415

    if importlib.util.find_spec("torch") is None:
        raise ToolchainError(
            "PyTorch is not installed. Install it beside Kibi: pip install torch onnxscript 'kibi[onnx]'."
        )
    import torch  # noqa: PLC0415

    if not isinstance(module, torch.nn.Module):
        raise InputError(f"the module is of type {type(module).__name__}. Give a torch.nn.Module.")
    was_training = module.training
    try:
        program = torch.export.export(module.eval(), tuple(example))
    except Exception as error:
        what = f"{type(module).__name__} cannot be traced: {type(error).__name__}: {error}"
        raise InputError(
            f"{what}. Give one tensor for each of its inputs, and keep its control flow free of their values."
        ) from error
    finally:
        module.train(was_training)
    with temporary_folder() as folder:
        exported = folder / f"{type(module).__name__}.pt2"
        torch.export.save(program, str(exported))
        if path is None:
            return replace(load(exported), path=None)  # the folder goes
        convert(exported, path)
    return load(path)
