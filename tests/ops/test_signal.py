"""What the Signal operators leave open in TFLM, and what is refused of them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flatbuffers import flexbuffers

from kibi.dtypes import Array, DType
from kibi.errors import ModelError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.planner import plan
from kibi.runtime import Interpreter
from kibi.targets import target
from kibi.tflm import Oracle
from tests.ops.batch import Batch
from tests.ops.comparison import graph_of, python_outputs_of
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS, Case
from tests.support.signal_models import signal

_RUNS = 7


def _framer(*, prefill: bool, size: int, step: int, frames: int) -> Case:
    b = ModelBuilder()
    source = b.input([2, frames * step], DType.S16)
    outputs = [b.tensor([2, frames, size], DType.S16), b.tensor([], DType.BOOL)]
    data = np.arange(1, 1 + _RUNS * 2 * frames * step, dtype=np.int16).reshape(_RUNS, 2, -1)
    options = {"frame_size": size, "frame_step": step, "prefill": prefill}
    return replace(
        signal("SignalFramer", b, [source], outputs, [data[0]], **options), further=tuple((x,) for x in data[1:])
    )


def _stacker(left: int, right: int, step: int) -> Case:
    b = ModelBuilder()
    outputs = [b.tensor([3 * (left + right + 1)], DType.S16), b.tensor([], DType.BOOL)]
    data = np.arange(1, 1 + _RUNS * 3, dtype=np.int16).reshape(_RUNS, 3)
    options = {"num_channels": 3, "stacker_left_context": left, "stacker_right_context": right, "stacker_step": step}
    source = b.input([3], DType.S16)
    return replace(
        signal("SignalStacker", b, [source], outputs, [data[0]], **options), further=tuple((x,) for x in data[1:])
    )


_INCOMPLETE = {
    "frames longer than what comes": _framer(prefill=False, size=11, step=4, frames=1),
    "frames of several inferences": _framer(prefill=False, size=25, step=3, frames=2),
    "frames whose step divides them": _framer(prefill=False, size=12, step=4, frames=2),
    "frames with zeros in front": _framer(prefill=True, size=11, step=4, frames=2),
    "stacks that look ahead": _stacker(1, 2, 1),
    "stacks that skip frames": _stacker(2, 1, 3),
    "stacks that leave frames out": _stacker(0, 2, 3),
    "stacks of one frame": _stacker(0, 0, 1),
}


def _masked(pairs: Sequence[Array]) -> list[Array]:
    """Outputs with their flags; zeros where a flag says that the output is not valid."""
    data, flags = pairs[0::2], pairs[1::2]
    return [np.where(flag, each, 0) for each, flag in zip(data, flags, strict=True)] + [
        np.asarray(flag) for flag in flags
    ]


@pytest.mark.parametrize("name", _INCOMPLETE)
def test_what_is_valid_equals_tflm(name: str, oracle: Oracle) -> None:
    """Flags are TFLM's in each of several inferences, and so is what they vouch for; the rest is 0."""
    case = _INCOMPLETE[name]
    mine = python_outputs_of(case, Interpreter(graph_of(case)))
    wanted = [array for run in oracle.run(case.model, case.runs) for array in run.outputs]
    for got, its in zip(_masked(mine), _masked(wanted), strict=True):
        np.testing.assert_array_equal(got, its)


def test_what_is_not_valid_is_the_same_in_c(tmp_path: Path) -> None:
    """C gives the zeros and flags of Python, whatever lies in the arena."""
    cases = list(_INCOMPLETE.values())
    graphs = [graph_of(case) for case in cases]
    plans = [plan(graph, target("host")) for graph in graphs]
    outcomes = Batch(graphs, plans, tmp_path, compiler="zig", level="0", sanitize=True).run(
        [case.every_input for case in cases]
    )
    for case, graph, outcome in zip(cases, graphs, outcomes, strict=True):
        wanted = python_outputs_of(case, Interpreter(graph))
        for run in outcome.outputs:
            assert [array.tobytes() for array in run] == [array.tobytes() for array in wanted]


def test_energy_outside_the_range_is_0() -> None:
    """TFLM leaves what lies there."""
    b = ModelBuilder()
    source, output = b.input([20], DType.S16), b.tensor([12], DType.U32)
    data = np.full(20, -3, np.int16)
    case = signal("SignalEnergy", b, [source], [output], [data], start_index=2, end_index=9)
    assert Interpreter(graph_of(case)).run([data])[0].tolist() == [0, 0, *[18] * 7, 0, 0, 0]


def _options(name: str, **changes: object) -> bytes:
    """A drawn model of an operator, with other options written in place of its own."""
    b = ModelBuilder()
    source, outputs = b.input([8], DType.S16), [b.tensor([8], DType.S16)]
    if name in ("SignalFramer", "SignalStacker"):
        outputs.append(b.tensor([], DType.BOOL))
    data = {key: value for key, value in changes.items() if value is not None}
    b.operator("CUSTOM", [source], outputs, custom_code=name, custom_options=bytes(flexbuffers.Dumps(data)))
    return b.finish(outputs)


_REFUSED: dict[str, tuple[bytes, str]] = {
    "an option is missing": (_options("SignalDelay"), "delay_length are required"),
    "an option more": (_options("SignalDelay", delay_length=1, other=2), "delay_length, other"),
    "an option of another type": (_options("SignalDelay", delay_length="long"), "'long'"),
    "a negative delay": (_options("SignalDelay", delay_length=-1), "at least 0"),
    "another type than T says": (_options("SignalRfft", T=2, fft_length=8), "option T is 2"),
    "an odd length": (_options("SignalRfft", T=7, fft_length=9), "length is 9"),
    "a prime factor of 7": (_options("SignalRfft", T=7, fft_length=14), "length is 14"),
    "lines longer than the transform": (_options("SignalRfft", T=7, fft_length=6), "lines of 8"),
    "spectra of another length": (_options("SignalIrfft", T=7, fft_length=12), "14 are required"),
    "one output of two": (_options("SignalFftAutoScale"), "1 outputs"),
    "steps that do not divide the line": (
        _options("SignalFramer", frame_size=4, frame_step=3, prefill=False),
        "no multiple of 3",
    ),
    "zeros in front of nothing": (_options("SignalFramer", frame_size=4, frame_step=8, prefill=True), "zeros in front"),
    "stacks that never end": (
        _options("SignalStacker", num_channels=8, stacker_left_context=0, stacker_right_context=0, stacker_step=2),
        "stacker_step is 2",
    ),
}


@pytest.mark.parametrize("what", _REFUSED)
def test_model_that_makes_no_sense_is_refused(what: str) -> None:
    """The error says what is wrong."""
    model, words = _REFUSED[what]
    with pytest.raises(ModelError, match=words):
        parse_tflite(model, "refused.tflite")


def test_filter_bank_whose_stretch_leaves_its_input_is_refused() -> None:
    """TFLM would read behind the tensor."""
    b = ModelBuilder()
    operands = [b.input([4], DType.U32), *(b.constant(np.ones(6, np.int16)) for _ in range(2))]
    operands += [b.constant(np.array(places, np.int16)) for places in ([0, 2], [0, 3], [3, 3])]
    case = signal("SignalFilterBank", b, operands, [b.tensor([1], DType.U64)], [], num_channels=1)
    with pytest.raises(ModelError, match="leaves the 4 elements"):
        graph_of(case)


def test_drawn_models_of_each_type_are_transformed() -> None:
    """The draw has all three types of both transforms."""
    for name in ("SignalRfft", "SignalIrfft"):
        kinds = {graph_of(OPERATOR_MODELS[name](Seeded(seed))).views[0]["input"].type.dtype for seed in range(30)}
        assert kinds == {DType.S16, DType.S32, DType.F32}
