"""Recorded programs become C that gives the same bits; what C cannot do is told before a file is written."""

import ctypes
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kibi
from kibi import ops
from kibi.dtypes import Array, DType
from kibi.eager import Program, legacy, normalization, pools, record
from kibi.eager.context import Context
from kibi.eager.operators import bind
from kibi.eager.program import Called, Evaluated, Freed, Made, Rebalanced, Written
from kibi.eager.tensors import BufferTensor, CameraTensor, FileTensor, RamTensor, RomTensor, RowTensor
from kibi.eager_c.calls import FUNCTIONS, OPERATORS, operator_call
from kibi.eager_c.sources import operators
from kibi.errors import EventError, InputError
from kibi.ir import Operator, Quantization, TensorType
from kibi.toolchain import build_shared
from kibi.toolchain.cache import load_library
from tests.eager_c.library import CArena
from tests.eager_c.program import CContext
from tests.ops.comparison import graph_of
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS

_SEEDS = 40
_KIND = TensorType((1, 4, 3, 2), DType.S8, Quantization((0.5,), (3,)))


class _Recorded:
    """A program of one operator on buffers, and what Python makes of its inputs.

    Attributes:
        program: the program.
        buffers: the program's buffers in the order in which they were made, as they were before.
        outputs: what is in them afterwards.
    """

    def __init__(self, name: str, seed: int) -> None:
        case = OPERATOR_MODELS[name](Seeded(seed))
        graph = graph_of(case)
        view = graph.views[0]
        given = dict(zip(graph.inputs, case.inputs, strict=True))
        made: dict[int, Any] = {}
        arrays: list[Array] = []
        with Context(ram=1 << 16), record(f"{name.lower()}_program") as self.program:
            for _, tensor in view.operands:
                if tensor is None or tensor.index in made:
                    continue
                if tensor.data is not None:
                    made[tensor.index] = RomTensor(tensor.type, tensor.data, name=tensor.name)
                else:
                    values = given.get(tensor.index, np.zeros(tensor.type.shape, tensor.type.dtype.numpy))
                    arrays.append(values.copy())
                    made[tensor.index] = BufferTensor(tensor.type, arrays[-1].reshape(-1), name=tensor.name)
            self.buffers = [array.copy() for array in arrays]
            bind(view.op, **{key: made[tensor.index] for key, tensor in view.operands if tensor is not None}).eval()
        self.outputs = arrays
        step = next(step for step in self.program.steps if isinstance(step, Evaluated))
        operator_call(step.op, step.operands)  # refuses what C does not have


def _recorded(name: str) -> _Recorded:
    """The first model of an operator that C has in this form."""
    for seed in range(_SEEDS):
        try:
            return _Recorded(name, seed)
        except InputError:
            continue
    raise AssertionError(f"no model of {name} is one for C")


def _run(loaded: ctypes.CDLL, name: str, buffers: list[Array], ram_bytes: int = 60_000) -> int:
    """The status of a program's function; it gives all memory back."""
    metadata, ram = (CArena(loaded, "handle_arena", size, 8) for size in (60_000, ram_bytes))
    context = CContext(ctypes.addressof(metadata.memory), ctypes.addressof(ram.memory), None)
    arguments = (ctypes.c_void_p(each.ctypes.data) for each in buffers)
    status = int(loaded[name](ctypes.byref(context), *arguments))
    assert metadata.call("available") == 60_000
    assert ram.call("available") == ram_bytes
    ram.check_canaries()
    return status


def _library(folder: Path, programs: list[Program]) -> ctypes.CDLL:
    files = kibi.compile_eager(folder, program=programs, target="host")
    sources = [path for path in files if path.suffix == ".c" and path.name != "example_main.c"]
    loaded = load_library(build_shared(sources, includes=[folder], level="0", sanitize=True))
    loaded.kibi_available.restype = ctypes.c_uint32
    return loaded


def test_every_operator_that_is_recorded_gives_pythons_bits(tmp_path: Path) -> None:
    """One program for each operator, all in one library."""
    recorded = {name: _recorded(name) for name in OPERATORS}
    loaded = _library(tmp_path, [each.program for each in recorded.values()])
    for name, each in recorded.items():
        assert _run(loaded, each.program.name, each.buffers) == 0, name
        for made, wanted in zip(each.buffers, each.outputs, strict=True):
            assert made.tobytes() == wanted.tobytes(), name


def test_every_operator_in_c_can_be_recorded_or_takes_functions() -> None:
    """Operators that models have, and functions of tensors, but for the one that takes a function of Python."""
    called = {form.name for form in OPERATORS.values()} | {form.name for form in FUNCTIONS.values()}
    assert set(operators()) - called == {"generic_pool2d"}
    modules = (pools, legacy, normalization)
    noted = {name for each in modules for name, value in vars(each).items() if hasattr(value, "__wrapped__")}
    assert noted - set(FUNCTIONS) == {"generic_pool2d"}


_U8 = Quantization((0.5,), (9,))
_PICTURE = TensorType((1, 4, 4, 2), DType.U8, _U8)
_HALF = TensorType((1, 2, 2, 2), DType.U8, _U8)
_REAL = TensorType((1, 4, 4, 2), DType.F32)
_VECTOR = TensorType((2,), DType.F32)
_S32 = TensorType((2,), DType.S32)


def _calls() -> Mapping[str, tuple[Callable[..., None], TensorType, tuple[TensorType, ...], dict[str, Any]]]:
    """A call of each function: what it makes, and of what."""
    filters, layer = TensorType((1, 3, 3, 2), DType.U8, _U8), TensorType((2, 32), DType.U8, _U8)
    window = {"stride": (2, 2), "padding": ops.Padding.SAME, "activation": ops.Activation.RELU6}
    s8, half_s8 = (TensorType(each.shape, DType.S8, _KIND.quantization) for each in (_PICTURE, _HALF))
    each = (_VECTOR, _VECTOR, _VECTOR, _VECTOR)
    return {
        "min_pool2d": (pools.min_pool2d, half_s8, (s8,), {**window, "kernel": (2, 2)}),
        "batch_norm": (normalization.batch_norm, _REAL, (_REAL, *each), {"epsilon": 0.25}),
        "add_u8": (legacy.add_u8, _PICTURE, (_PICTURE, _PICTURE), {"activation": ops.Activation.RELU}),
        "depthwise_conv2d_u8": (legacy.depthwise_conv2d_u8, _HALF, (_PICTURE, filters, _S32), window),
        "fully_connected_u8": (legacy.fully_connected_u8, TensorType((1, 2), DType.U8, _U8), (_PICTURE, layer), {}),
        "max_pool2d_u8": (legacy.max_pool2d_u8, _HALF, (_PICTURE,), {**window, "kernel": (3, 3)}),
        "quantize_u8": (legacy.quantize_u8, _PICTURE, (_REAL,), {}),
        "dequantize_u8": (legacy.dequantize_u8, _REAL, (_PICTURE,), {}),
        "arg_max_u8": (legacy.arg_max_u8, TensorType((1, 4, 4), DType.S32), (_PICTURE,), {"axis": 3}),
    }


def test_functions_of_tensors_are_recorded_as_calls(tmp_path: Path) -> None:
    """Each function of tensors, its result in a block of the arena: C computes it again, and does not copy Python's result."""
    programs, wanted = [], {}
    calls = _calls()
    assert set(calls) == set(FUNCTIONS)
    for name, (function, made, kinds, options) in calls.items():
        draw = np.random.default_rng(7)
        inputs = [draw.integers(0, 100, each.shape).astype(each.dtype.numpy) for each in kinds]
        output = np.zeros(made.shape, made.dtype.numpy)
        with Context(ram=1 << 14), record(f"{name}_program") as program:
            sources = [BufferTensor(kind, values.reshape(-1)) for kind, values in zip(kinds, inputs, strict=True)]
            result = RamTensor(made, name="result")
            function(result, *sources, **options)
            bind(ops.Reshape(), input=result, output=BufferTensor(made, output.reshape(-1))).eval()
        assert [type(step) for step in program.steps if isinstance(step, Called | Evaluated | Written)] == [
            Called,
            Evaluated,
        ]
        programs.append(program)
        wanted[program.name] = (inputs, output)
    loaded = _library(tmp_path, programs)
    for name, (inputs, output) in wanted.items():
        again = np.zeros_like(output)
        assert _run(loaded, name, [*inputs, again]) == 0, name
        assert output.any(), name
        assert again.tobytes() == output.tobytes(), name


def _program(name: str = "sums") -> tuple[Program, Array]:
    """A program that writes, frees and rebalances; and its output."""
    output = np.zeros(24, np.int8)
    with Context(ram=4096) as context, record(name) as program:
        first = RamTensor(_KIND, np.arange(24, dtype=np.int8), name="first")
        spare = RamTensor(_KIND, name="a name, of 2 words")
        second = RamTensor(_KIND, name="first")
        second.assign(np.arange(24, dtype=np.int8)[::-1])
        second[0, 1, 1, 1] = np.int8(-7)
        spare.free()
        context.ram.rebalance()  # type: ignore[attr-defined]  # the context's own arena
        bind(ops.Add(), input1=first, input2=second, output=BufferTensor(_KIND, output, name="status")).eval()
        RamTensor(_KIND, name="unused")
    return program, output


def test_steps_are_what_the_program_did() -> None:
    """In their order; a tensor that dies is freed where it died."""
    program, _ = _program()
    kinds = [type(step) for step in program.steps]
    assert kinds[:5] == [Made, Written, Made, Made, Written]
    assert kinds[5:9] == [Written, Freed, Rebalanced, Made]
    assert kinds[9] is Evaluated
    assert Freed in kinds[10:]
    assert [step.tensor.name for step in program.steps if isinstance(step, Made)].count("first") == 2


def test_writes_moves_and_frees_are_in_c(tmp_path: Path) -> None:
    """Names that meet, or that C has, are others; the bits are the same; memory that is too small is told, and given back."""
    program, wanted = _program()
    loaded = _library(tmp_path, [program])
    output = np.zeros(24, np.int8)
    assert _run(loaded, "sums", [output]) == 0
    assert (output == wanted).all()
    assert _run(loaded, "sums", [output], ram_bytes=64) == -32
    text = (tmp_path / "sums.c").read_text(encoding="utf-8")
    assert "kibi_ram_tensor first_1 = " in text
    assert "kibi_buffer_tensor status_tensor = " in text
    assert "kibi_rebalance(context->ram)" in text


def test_camera_is_a_function_of_the_caller(tmp_path: Path) -> None:
    """Its rows are kept in the caller's memory."""
    kind, output = TensorType((1, 6, 4, 1), DType.S8, Quantization((0.5,), (0,))), np.zeros(12, np.int8)
    rows = np.arange(24, dtype=np.int8).reshape(6, 4, 1)
    made = TensorType((1, 3, 2, 1), DType.S8, Quantization((0.5,), (0,)))
    with Context(), record("seen") as program:
        camera = CameraTensor(kind, iter(rows), keep=2, name="eye")
        pool = ops.MaxPool2D(kernel=(2, 2), stride=(2, 2))
        bind(pool, input=camera, output=BufferTensor(made, output, name="peaks")).eval()
    loaded = _library(tmp_path, [program])
    source = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p)

    def deliver(_: int, row: int, to: int) -> int:
        ctypes.memmove(to, rows[row].tobytes(), 4)
        return 1

    metadata, ram = (CArena(loaded, "handle_arena", 4096, 8) for _ in range(2))
    context = CContext(ctypes.addressof(metadata.memory), ctypes.addressof(ram.memory), None)
    room, again = np.zeros(8, np.int8), np.zeros(12, np.int8)
    pointers = (ctypes.c_void_p(each.ctypes.data) for each in (room, again))
    assert loaded.seen(ctypes.byref(context), source(deliver), None, *pointers) == 0
    assert (again == output).all()
    assert output.any()


def _evaluated(op: Operator, **tensors: Callable[[], Any]) -> Program:
    with Context(ram=1 << 16), record("wrong") as program:
        bind(op, **{name: make() for name, make in tensors.items()}).eval()
    return program


def _rows() -> RowTensor:
    tensor = RowTensor(_KIND, ring=4)
    tensor.assign(np.zeros(24, np.int8))
    return tensor


def _stepped() -> Program:
    with Context(), record("wrong") as program:
        x, y = RamTensor(_KIND), RamTensor(_KIND)
        relu = bind(ops.Relu(), input=x, output=y)
        for step in range(relu.steps):
            relu.step(step)
        relu.eval()
    return program


def _generic() -> Program:
    with Context(ram=1 << 12), record("wrong") as program:
        pools.generic_pool2d(RamTensor(_HALF), RamTensor(_PICTURE), max, kernel=(2, 2), stride=(2, 2))
    return program


def _ram(kind: TensorType = _KIND) -> Callable[[], RamTensor]:
    return lambda: RamTensor(kind)


_S16 = TensorType((1, 4, 3, 2), DType.S16, Quantization((0.5,), (0,)))
_PLACE = TensorType((1,), DType.S32)
_TALL = TensorType((1, 4, 6), DType.S8, _KIND.quantization)
_WIDE = TensorType(_REAL.shape, DType.S16, Quantization((0.5,), (0,)))
_WRONG: Mapping[str, tuple[Callable[[], Program], str]] = {
    "no operator": (lambda: Program("empty"), "evaluates no operator"),
    "not in C": (lambda: _evaluated(ops.Abs(), input=_ram(), output=_ram()), "ABS is no operator of the C library"),
    "type": (lambda: _evaluated(ops.Relu(), input=_ram(_S16), output=_ram(_S16)), "RELU of s16 is not in the C library"),
    "kind of tensor": (lambda: _evaluated(ops.Relu(), input=_rows, output=_ram()), "RowTensor.*makes no C"),
    "another shape": (lambda: _evaluated(ops.Relu(), input=_ram(), output=_ram(_TALL)), "takes tensors of one shape"),
    "another type": (lambda: _evaluated(ops.Quantize(), input=_ram(_REAL), output=_ram(_WIDE)), "QUANTIZE to s16 is not in"),
    "a function of Python": (_generic, "takes a function of Python.*kibi_op_generic_pool2d"),
    "steps": (_stepped, "single steps"),
    "computed argument": (
        lambda: _evaluated(ops.ArgMax(), input=_ram(), axis=lambda: RamTensor(_PLACE, np.zeros(1, np.int32)),
                           output=_ram(TensorType((4, 3, 2), DType.S32))),
        "axis is an argument in C",
    ),
    "name of a file": (lambda: _program("kibi_tensor")[0], "kibi_"),
    "keyword": (lambda: _program("while")[0], "while"),
}  # fmt: skip


@pytest.mark.parametrize("what", _WRONG)
def test_what_c_cannot_do_is_told(what: str, tmp_path: Path) -> None:
    """By name, with a remedy, and nothing is written."""
    make, text = _WRONG[what]
    with pytest.raises(InputError, match=text):
        kibi.compile_eager(tmp_path / "new", program=make())
    assert not (tmp_path / "new").exists()


def test_recording_needs_a_name_and_its_own_tensors(tmp_path: Path) -> None:
    """A tensor from before is none of the program's; what raises is not recorded; files are no part of C."""
    with pytest.raises(InputError, match="Name it like a variable"), record("two words"):
        pass
    with Context(ram=64):
        before = RamTensor(_KIND)
        with pytest.raises(InputError, match="before the recording began"), record("late"):
            bind(ops.Relu(), input=before, output=before).eval()
        with record("full") as program, pytest.raises(EventError):
            RamTensor(TensorType((100,), DType.S8))
        assert program.steps == ()
    (tmp_path / "file").write_bytes(bytes(24))
    with Context(ram=64), record("stored") as program:
        bind(ops.Relu(), input=FileTensor(_KIND, tmp_path / "file"), output=RamTensor(_KIND)).eval()
    with pytest.raises(InputError, match="FileTensor"):
        kibi.compile_eager(tmp_path / "new", program=program)
    with pytest.raises(InputError, match="no operator by hand is called conv9"):
        kibi.compile_eager(tmp_path / "new", operators=["conv9"])
