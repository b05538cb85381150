"""The model itself in a page: its C code as WebAssembly, and what it must answer to a golden input."""

import hashlib
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kibi.arrays.images import is_image_shape, quantized_pixels
from kibi.codegen import Library, generate, write
from kibi.dtypes import Array, DType
from kibi.engines.engine import written_sources
from kibi.errors import InputError
from kibi.files import temporary_folder
from kibi.ir import Graph, Tensor
from kibi.pages.layers import tensor_facts
from kibi.pages.measured import MeasuredModel
from kibi.planner import Handover
from kibi.printable import printable
from kibi.reports.measurement import outputs_of_each
from kibi.runtime import Interpreter, seeded_inputs
from kibi.targets import target
from kibi.toolchain.wasm import link_wasm

WASM = target("wasm32")
"""A browser: the plan is the device's, its kernels are the portable ones, which give the same bits."""
_MOST_INPUT_BYTES = 256 << 10
"""The largest golden input that is stored in a page."""


def machine_record(measured: MeasuredModel, labels: Sequence[str] = (), *, seed: int = 0) -> dict[str, Any]:
    """The model for a page: `wasm` in base64, its functions, inputs and outputs, and a golden input with the digest of the answer.

    The digest is SHA-256 over the bytes of all outputs after `golden.runs` inferences with the golden input from the first state
    on. It is made by the Python runtime, whose bits the device's were compared with.

    Where the model cannot run in a page, there is `left_out` alone: the reason.
    """
    reason = why_not(measured)
    if reason:
        return {"left_out": reason}
    graph = measured.planned.model
    inputs = seeded_inputs(graph, seed)
    expected = outputs_of_each(Interpreter(graph, measured.planned.plan), inputs)
    model = measured.library.model
    return {
        "wasm": b64encode(wasm_of(measured)).decode("ascii"),
        "prefix": graph.name,
        "state_bytes": model.state_bytes(),
        "arena_bytes": model.arena_bytes,
        "arena_alignment": WASM.arena_alignment_bytes,
        "has_variables": bool(model.variable_bytes),
        "inputs": [_input(graph, graph.tensors[index]) for index in graph.inputs],
        "outputs": [_end(graph.tensors[index]) for index in graph.outputs],
        "labels": [printable(each) for each in labels],
        "golden": {
            "inputs": [b64encode(np.ascontiguousarray(each).tobytes()).decode("ascii") for each in inputs],
            "runs": len(expected),
            "sha256": digest_of(expected[-1]),
        },
    }


def why_not(measured: MeasuredModel) -> str:
    """Says why a model cannot run in a page; empty if it can."""
    plan, graph = measured.planned.plan, measured.planned.model
    if (plan.input, plan.output) != (Handover.STORED, Handover.STORED) or plan.external_buffers:
        return (
            "The plan hands inputs or outputs over in another way than in the arena, which this page does not imitate."
        )
    if plan.regions or plan.slow_weights is not None:
        return "The plan uses several memories, which a page does not have."
    if sum(graph.tensors[index].type.size_bytes for index in graph.inputs) > _MOST_INPUT_BYTES:
        return f"The inputs are larger than the {_MOST_INPUT_BYTES:,} bytes that a page keeps of a golden input."
    return ""


def wasm_of(measured: MeasuredModel) -> bytes:
    """The planned model's C code as a WebAssembly module, which exports the model's own functions and its memory.

    Raises:
        ToolchainError: the compiler is missing or fails.
    """
    library = generate([measured.planned], WASM)
    with temporary_folder() as folder:
        written: Library = write(library, Path(folder))
        sources, include = written_sources(written)
        model = written.model
        names = ["init", "input", "output", "invoke", *(["reset"] if model.variable_bytes else [])]
        return link_wasm(sources, WASM, [f"{model.graph.name}_{name}" for name in names], includes=[include])


def digest_of(outputs: Sequence[Array]) -> str:
    """SHA-256 over the bytes of arrays, one after another, in hexadecimal digits."""
    total = hashlib.sha256()
    for output in outputs:
        total.update(np.ascontiguousarray(output).tobytes())
    return total.hexdigest()


def _end(tensor: Tensor) -> dict[str, Any]:
    """An input or output: its facts, and scale and zero point where one value is stored as one integer."""
    quantization = tensor.type.quantization
    has_scale = quantization is not None and tensor.type.dtype.is_integer and not quantization.is_per_channel
    scale = {"scale": quantization.scale, "zero_point": quantization.zero_point} if has_scale and quantization else {}
    return {**tensor_facts(tensor), "elements": tensor.type.elements, **scale}


def _input(graph: Graph, tensor: Tensor) -> dict[str, Any]:
    """An input, and for one that is an image the stored value of each of the 256 values of a pixel."""
    facts = _end(tensor)
    if not is_image_shape(tensor.type.shape) or min(tensor.type.shape[1:3]) < 2 or tensor.type.dtype is DType.BOOL:
        return facts
    try:
        table = quantized_pixels(graph, tensor, np.arange(256, dtype=np.uint8))
    except InputError:  # integers without a scale do not say what a pixel means
        return facts
    return {**facts, "pixels": table.tolist()}
