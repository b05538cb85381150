"""Custom operators in models and by hand: in Python, in C and on the device."""

import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kibi
from kibi import ops
from kibi.eager.operators import bind
from kibi.eager.tensors import BufferTensor, CameraTensor
from kibi.engines import DeviceEngine, HostEngine
from kibi.errors import InputError
from kibi.ops import is_custom
from tests.ops.custom.motion import (
    CODE,
    EXAMPLE,
    KERNELS,
    FrameDifference,
    drawn_inputs,
    expected_outputs,
    flex,
    model_bytes,
    motion_graph,
)


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("granularity", ["row", "tensor"])
def test_custom_operator_gives_the_same_bits_in_python_in_c_and_on_the_device(granularity: str, tmp_path: Path) -> None:
    """A model with one runs in all engines, under both kinds of plan."""
    graph = motion_graph(flex({"threshold": 40}))
    inputs = drawn_inputs(graph)
    plan = kibi.plan(graph, granularity=granularity)
    wanted = expected_outputs(inputs, 40)
    assert (kibi.run(graph, plan, inputs)[0] == wanted).all()
    host = kibi.compile(graph, kibi.plan(graph, "host", granularity=granularity), tmp_path / "host", target="host")
    assert (HostEngine(host).run(inputs)[0] == wanted).all()
    library = kibi.compile(graph, plan, tmp_path / "device")
    assert "kernels/kibi_frame_difference_s8.c" in library.files
    assert (DeviceEngine(library).run(inputs)[0] == wanted).all()


@pytest.mark.usefixtures("registered")
def test_custom_operator_takes_rows_as_they_arrive(tmp_path: Path) -> None:
    """Streaming needs no more of a custom operator than of another."""
    graph = motion_graph(flex({"threshold": 3}))
    inputs = drawn_inputs(graph, 1)
    library = kibi.compile(graph, kibi.plan(graph, "host", input="streamed"), tmp_path, target="host")
    assert (HostEngine(library).run(inputs)[0] == expected_outputs(inputs, 3)).all()


@pytest.mark.usefixtures("registered")
def test_measurement_and_verification_leave_tflm_out(tmp_path: Path) -> None:
    """TensorFlow Lite Micro does not have the operator, and is not asked."""
    path = tmp_path / "motion.tflite"
    path.write_bytes(model_bytes(flex({"threshold": 3})))
    graph = kibi.load(path)
    found = kibi.measure(kibi.compile(graph, None, tmp_path / "library"))
    assert (found.bit_exact, found.oracle) == (True, None)
    verified = kibi.verify(graph, target="host", runs=1)
    assert verified.is_exact
    assert "tflm: it does not have the custom operators FRAME_DIFFERENCE" in verified.skipped
    assert [is_custom(node.op) for node in graph.nodes] == [True, False]


def test_custom_operator_works_by_hand() -> None:
    """It needs no registration to be bound to tensors, such as a camera's rows."""
    kind = _graph_type()
    frame, background = (np.random.default_rng(seed).integers(-128, 128, kind.shape).astype(np.int8) for seed in (1, 2))
    camera = CameraTensor(kind, iter(frame[0]))
    seen, output = (BufferTensor(kind, bytearray(kind.size_bytes)) for _ in range(2))
    seen.assign(background)
    bind(FrameDifference(threshold=9), output=output, background=seen, frame=camera).eval()
    distance = np.abs(frame.astype(int) - background)
    assert (output.to_array() == np.minimum(np.where(distance > 9, distance, 0) - 3, 127)).all()


def _graph_type() -> Any:
    ops.register_custom(CODE, FrameDifference)
    return motion_graph().tensors[0].type


def test_operator_without_kernel_runs_in_python_alone(tmp_path: Path) -> None:
    """Without C files a model plans and runs; compiling it names the kernel that is missing."""
    ops.register_custom(CODE, FrameDifference)
    graph = motion_graph()
    inputs = drawn_inputs(graph)
    assert (kibi.run(graph, None, inputs)[0] == expected_outputs(inputs, 0)).all()
    with pytest.raises(InputError, match="needs the C kernel kibi_frame_difference_s8, but no file defines it"):
        kibi.compile(graph, None, tmp_path)


def test_header_with_other_fields_than_the_parameters_is_refused(tmp_path: Path) -> None:
    """A struct whose fields have changed places is told when a model is compiled, with both lists of fields."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    header = (KERNELS / "kibi_frame_difference_s8.h").read_text()
    swapped = header.replace("elements;", "x;").replace("threshold;", "elements;").replace("x;", "threshold;")
    (folder / "kibi_frame_difference_s8.h").write_text(swapped)
    (folder / "kibi_frame_difference_s8.c").write_text((KERNELS / "kibi_frame_difference_s8.c").read_text())
    ops.register_custom(CODE, FrameDifference, kernels=folder)
    text = r"_params has int32_t threshold, int32_t elements, .*FrameDifferenceParams has int32_t elements, int32_t threshold"
    with pytest.raises(InputError, match=text):
        kibi.compile(motion_graph(), None, tmp_path / "library")


def test_example_model_is_that_of_the_tutorial(tmp_path: Path) -> None:
    """The example's script writes a model that loads with the example's operator."""
    path = tmp_path / "motion.tflite"
    subprocess.run([sys.executable, str(EXAMPLE / "make_model.py"), str(path)], check=True)
    ops.register_custom(CODE, FrameDifference, kernels=KERNELS)
    graph = kibi.load(path)
    assert [node.op.name for node in graph.nodes] == [CODE, "MAX_POOL_2D"]
    assert [field.name for field in fields(graph.nodes[0].op)] == ["threshold"]  # type: ignore[arg-type]  # it is a dataclass
    assert graph.nodes[0].op == FrameDifference(threshold=12)
