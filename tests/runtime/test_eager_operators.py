"""Operators by hand: named operands wherever they lie, row by row, with the bits of the interpreter."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from kibi import ops
from kibi.dtypes import Array, DType
from kibi.eager.context import Context
from kibi.eager.handlers import ErrorHandler
from kibi.eager.memory import HandleArena
from kibi.eager.memory.allocator import ArenaRebalancing, PinOutlived
from kibi.eager.operators import bind
from kibi.eager.tensors import (
    BufferTensor,
    CameraTensor,
    FileTensor,
    RamTensor,
    RomTensor,
    RowTensor,
    TensorInterface,
)
from kibi.errors import EventError, InputError
from kibi.ir import NodeView, Operator, OperatorError, Quantization, Rows, TensorType
from kibi.ops.control.stream_input import StreamInput
from kibi.runtime import Interpreter
from tests.ops.comparison import assert_same, graph_of
from tests.support.amount import amount
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS, Case

_SAMPLES = amount(4, 12)
_Maker = Callable[[TensorType, Array, Path], TensorInterface]


def _buffer(kind: TensorType, values: Array, _: Path) -> TensorInterface:
    return _filled(BufferTensor(kind, bytearray(kind.size_bytes)), values)


def _rows(kind: TensorType, values: Array, _: Path) -> TensorInterface:
    """Rows in descending order, with gaps."""
    return _filled(RowTensor(kind, offsets=[(kind.row_bytes + 3) * y for y in reversed(range(kind.rows))]), values)


def _camera(kind: TensorType, values: Array, _: Path) -> TensorInterface:
    return CameraTensor(kind, list(values.reshape(kind.rows, *kind.row_shape)), keep=kind.rows)


def _file(kind: TensorType, values: Array, folder: Path) -> TensorInterface:
    path = folder / f"tensor_{len(list(folder.iterdir()))}"
    path.write_bytes(values.tobytes())
    return FileTensor(kind, path, writable=True)


def _filled(tensor: TensorInterface, values: Array) -> TensorInterface:
    tensor.assign(values)
    return tensor


_INPUTS: Mapping[str, _Maker] = {
    "rom": lambda kind, values, _: RomTensor(kind, values),
    "ram": lambda kind, values, _: RamTensor(kind, values),
    "buffer": _buffer,
    "rows": _rows,
    "camera": _camera,
    "file": _file,
}
_OUTPUTS = {"rom": "ram", "camera": "rows"}
"""What takes the place of tensors that cannot be written."""


def _marked(op: Operator, *, fast: bool) -> Operator:
    """The same operator, marked fast or not."""
    kind = type(op)
    made: Operator = type(kind.__name__, (kind,), {"is_fast": fast, "__slots__": ()})(
        **{field.name: getattr(op, field.name) for field in fields(op)}  # type: ignore[arg-type]  # operators are dataclasses
    )
    return made


def _type(shape: tuple[int, ...], scale: float = 0.5, zero_point: int = 0, dtype: DType = DType.S8) -> TensorType:
    return TensorType(shape, dtype, Quantization((scale,), (zero_point,)))


def _values(kind: TensorType, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(-128, 128, kind.shape).astype(np.int8)


@dataclass(frozen=True)
class _Layer:
    """A convolution with tensors of 8 rows."""

    op: Operator
    operands: dict[str, Any]

    @staticmethod
    def make() -> "_Layer":
        x, y = _type((1, 8, 8, 2), 0.5, 3), _type((1, 4, 4, 4), 20.0)
        weights = TensorType((4, 3, 3, 2), DType.S8, Quantization((0.1, 0.2, 0.3, 0.4), (0,) * 4))
        bias = TensorType((4,), DType.S32, Quantization((0.05, 0.1, 0.15, 0.2), (0,) * 4))
        op = ops.Conv2D(stride=(2, 2), padding=ops.Padding.SAME)
        operands = {
            "bias": RomTensor(bias, np.array([1, -20, 300, -4000], np.int32), name="b"),
            "output": RamTensor(y, name="y"),
            "input": RamTensor(x, _values(x), name="x"),
            "filter": RomTensor(weights, _values(weights, 1), name="w"),
        }
        return _Layer(op, operands)

    def refusal(self, **changed: object) -> str:
        with pytest.raises(InputError) as caught:
            bind(self.op, **{name: value for name, value in {**self.operands, **changed}.items() if value is not ...})
        return str(caught.value)


@pytest.mark.share(3, part=0)
@pytest.mark.parametrize("name", ops.operators())
def test_operator_by_hand_gives_the_interpreters_bits_wherever_data_is(name: str, tmp_path: Path) -> None:
    """Each operator gives the same bits on every kind of tensor, whether it reaches bytes directly or not.

    Each run of the tests looks at a quarter of the kinds, another one for the next operator.
    """
    ways = list(product(_INPUTS, (False, True)))
    first, step = list(ops.operators()).index(name), amount(4, 1)
    for place, fast in ways[first % step :: step]:
        for seed in range(_SAMPLES if place == "ram" else amount(2, 3)):
            _check_by_hand(OPERATOR_MODELS[name](Seeded(seed)), place, fast=fast, folder=tmp_path)


def _check_by_hand(case: Case, place: str, *, fast: bool, folder: Path) -> None:
    """Binds the operator of a model to tensors of a kind, and compares its outputs with those of the interpreter."""
    graph = graph_of(case)
    view = graph.views[0]
    wanted = Interpreter(graph).run(case.inputs)
    arrays = dict(zip(graph.inputs, case.inputs, strict=True))
    history = ErrorHandler(1000)
    with Context(ram=1 << 20, handler=history):
        made: dict[int, TensorInterface] = {}
        for tensor in filter(None, (tensor for _, tensor in view.operands)):
            given = tensor.data if tensor.data is not None else arrays.get(tensor.index)
            kind = place if given is not None else _OUTPUTS.get(place, place)
            initial = np.frombuffer(tensor.initial_bytes, tensor.type.dtype.numpy).reshape(tensor.type.shape)
            values = initial if given is None else given
            made.setdefault(tensor.index, _INPUTS[kind](tensor.type, values, folder))
        operands = {name: made[tensor.index] for name, tensor in reversed(view.operands) if tensor is not None}
        output = bind(_marked(view.op, fast=fast), **operands).eval()
        assert output is operands["output"]
        if wanted and view.op.has_several_outputs:
            assert_same(graph, [made[index].to_array() for index in graph.outputs], wanted)
        elif wanted:  # which are none where an operator waits for more inferences
            assert_same(graph, [output.to_array()], wanted[:1])
        for bound in made.values():
            bound.free()
    assert PinOutlived not in [event.type for event in history]


@pytest.mark.parametrize("fast", [False, True], ids=["slow", "fast"])
def test_big_endian_device_gives_the_same_values(fast: bool) -> None:
    """An operator sees this machine's numbers, whatever the device's byte order."""
    kind = TensorType((1, 2, 3, 4), DType.F32)
    values = np.linspace(-3, 3, 24).astype(np.float32).reshape(kind.shape)
    with Context(byteorder="big"):
        x, y = RamTensor(kind, values), RamTensor(_type(kind.shape, 0.1))
        back = RamTensor(kind)
        bind(_marked(ops.Quantize(), fast=fast), input=x, output=y).eval()
        bind(_marked(ops.Dequantize(), fast=fast), input=y, output=back).eval()
        assert np.abs(back.to_array().astype(np.float32) - values).max() <= 0.051


def test_only_operators_marked_fast_reach_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow operator never asks for bytes, and a fast one for nothing else."""
    layer = _Layer.make()
    asked: list[str] = []
    for name in ("row", "write_row", "direct_row"):
        plain = getattr(TensorInterface, name)

        def spy(*arguments: Any, _name: str = name, _plain: Any = plain, **more: Any) -> Any:
            asked.append(_name)
            return _plain(*arguments, **more)

        monkeypatch.setattr(TensorInterface, name, spy)
    for fast, wanted in ((True, {"direct_row"}), (False, {"row", "write_row"})):
        bound = bind(_marked(layer.op, fast=fast), **layer.operands)
        bound.step(0)
        asked.clear()
        bound.step(1)
        assert set(asked) == wanted


def test_multiply_intensive_operators_are_marked_fast() -> None:
    """Of Kibi's own operators those that multiply most reach bytes directly."""
    assert {name for name, op in ops.operators().items() if op.is_fast} == {
        "CONV_2D",
        "DEPTHWISE_CONV_2D",
        "FULLY_CONNECTED",
    }


def test_missing_and_unknown_names_are_told_with_those_that_exist() -> None:
    """One error says all that is wrong with the names, and what is required."""
    text = _Layer.make().refusal(filter=..., weights=1)
    names = "It takes input, filter, bias (optional) and gives output."
    assert text == f"CONV_2D: filter missing and weights unknown. {names}"
    assert _Layer.make().refusal(output=None) == f"CONV_2D: output missing. {names}"


def test_optional_operand_may_be_left_out_or_none() -> None:
    """A bias that is not there is zero."""
    layer = _Layer.make()
    without = bind(layer.op, **{**layer.operands, "bias": None}).eval().to_array()
    zeros = RomTensor(layer.operands["bias"].type, np.zeros(4, np.int32))
    assert (bind(layer.op, **{**layer.operands, "bias": zeros}).eval().to_array() == without).all()


def test_operands_that_break_a_rule_are_refused_with_their_names() -> None:
    """What is no tensor, has a wrong type or shape, or cannot be written is told with what is required."""
    layer = _Layer.make()
    assert "filter is of type ndarray, which is no tensor" in layer.refusal(filter=np.zeros(3))
    assert "output 'w' cannot be written" in layer.refusal(output=layer.operands["filter"])
    assert "output has shape [1, 8, 8, 2], its inputs give [1, 4, 4, 4] (tensor 'x2')" in layer.refusal(
        output=RamTensor(layer.operands["input"].type, name="x2")
    )
    assert "input of type s32 is not supported; supported: s8, s16, f32 (tensor 'b')" in layer.refusal(
        input=layer.operands["bias"]
    )
    assert "bias has type s8, but s32 is required" in layer.refusal(bias=layer.operands["input"])
    with pytest.raises(InputError, match="STREAM_INPUT computes nothing"):
        bind(StreamInput(), output=layer.operands["output"])


def test_constants_that_are_written_later_count_at_the_next_evaluation() -> None:
    """Weights may lie in RAM, and change between two evaluations."""
    layer = _Layer.make()
    weights = RamTensor(layer.operands["filter"].type, np.zeros((4, 3, 3, 2), np.int8))
    bound = bind(layer.op, **{**layer.operands, "filter": weights})
    bound.eval()
    weights.assign(layer.operands["filter"].to_array())
    wanted = bind(layer.op, **layer.operands).eval().to_array()
    assert (bound.eval().to_array() == wanted).all()


@pytest.mark.parametrize("fast", [False, True], ids=["slow", "fast"])
def test_camera_that_keeps_too_few_rows_is_told_how_many_it_needs(fast: bool) -> None:
    """The least number of kept rows works, and each smaller one is an error that names it."""
    layer = _Layer.make()
    wanted = bind(layer.op, **layer.operands).eval().to_array()
    picture = layer.operands["input"]
    for keep in (1, 2, 3):
        camera = CameraTensor(picture.type, picture.row, keep=keep, name="camera")
        bound = bind(_marked(layer.op, fast=fast), **{**layer.operands, "input": camera})
        if keep < 3:
            with pytest.raises(EventError, match="'camera' must keep at least 3 of them"):
                bound.eval()
        else:
            assert (bound.eval().to_array() == wanted).all()


@pytest.mark.parametrize("fast", [False, True], ids=["slow", "fast"])
def test_one_camera_may_be_two_inputs(fast: bool) -> None:
    """A row that two operands share arrives once."""
    kind = _type((1, 6, 4, 2))
    picture = _values(kind)
    x, wanted, y = RamTensor(kind, picture), RamTensor(kind), RamTensor(kind)
    bind(ops.Add(), input1=x, input2=x, output=wanted).eval()
    camera = CameraTensor(kind, iter(picture[0]))
    bind(_marked(ops.Add(), fast=fast), input1=camera, input2=camera, output=y).eval()
    assert (y.to_array() == wanted.to_array()).all()


def test_layers_take_turns_through_a_ring_of_rows() -> None:
    """Two convolutions run row by row from a camera through a ring of three rows: the bits are those of whole tensors."""
    kind = _type((1, 12, 5, 2), 0.5, -4)
    weights = RomTensor(_type((2, 3, 3, 2), 0.02), _values(_type((2, 3, 3, 2)), 1))
    picture = _values(kind)
    conv = ops.Conv2D(padding=ops.Padding.SAME)
    x, middle, y = RamTensor(kind, picture), RamTensor(kind), RamTensor(kind)
    bind(conv, input=x, filter=weights, output=middle).eval()
    wanted = bind(conv, input=middle, filter=weights, output=y).eval().to_array()

    camera = CameraTensor(kind, iter(picture[0]), keep=3)
    ring = RowTensor(kind, ring=3)
    first = bind(conv, input=camera, filter=weights, output=ring)
    second = bind(conv, input=ring, filter=weights, output=y)
    y.assign(np.zeros(kind.shape, np.int8))
    made = 0
    for step in range(second.steps):
        while made <= max(second.needs(step)["input"]):
            assert first.step(made) == range(made, made + 1)
            made += 1
        second.step(step)
    assert (y.to_array() == wanted).all()
    assert ring.stored_bytes == 3 * kind.row_bytes


def test_steps_out_of_turn_are_refused_and_step_zero_begins_anew() -> None:
    """Steps come in ascending order, because some add up what they read."""
    kind = _type((1, 4, 4, 2))
    axes = RomTensor(TensorType((2,), DType.S32), np.array([1, 2], np.int32))
    x, y = RamTensor(kind, _values(kind)), RamTensor(_type((1, 2)))
    bound = bind(ops.Mean(), input=x, axes=axes, output=y)
    wanted = bound.eval().to_array()
    bound.step(0)
    with pytest.raises(InputError, match=r"step 2 is out of order; 0 or 1 of 4 is next"):
        bound.step(2)
    assert [bound.step(step) for step in range(4)] == [range(0)] * 3 + [range(1)]
    assert (y.to_array() == wanted).all()


@pytest.mark.parametrize("fast", [False, True], ids=["slow", "fast"])
def test_output_may_be_an_input_where_no_row_is_lost(fast: bool) -> None:
    """Elementwise operators run in place; a convolution whose windows overlap does not."""
    kind = _type((1, 4, 4, 2))
    x = RamTensor(kind, _values(kind))
    wanted = bind(ops.Relu(), input=x, output=RamTensor(kind)).eval().to_array()
    assert (bind(_marked(ops.Relu(), fast=fast), input=x, output=x).eval().to_array() == wanted).all()
    weights = RomTensor(_type((2, 3, 3, 2)), _values(_type((2, 3, 3, 2))))
    with pytest.raises(InputError, match="rows would be overwritten before they are read"):
        bind(ops.Conv2D(padding=ops.Padding.SAME), input=x, filter=weights, output=x)


def test_chain_on_an_arena_that_moves_its_blocks_keeps_its_bits() -> None:
    """Operators stay bound while the arena rebalances between them, and between their steps."""
    kind = _type((1, 6, 4, 2), 0.5, -4)
    weights = RomTensor(_type((2, 3, 3, 2), 0.02), _values(_type((2, 3, 3, 2)), 1), context=Context())
    conv = ops.Conv2D(padding=ops.Padding.SAME)
    picture = _values(kind)
    plain = [RamTensor(kind, picture), RamTensor(kind), RamTensor(kind)]
    bind(conv, input=plain[0], filter=weights, output=plain[1]).eval()
    wanted = bind(ops.Relu(), input=plain[1], output=plain[2]).eval().to_array()

    with Context(ram=HandleArena(176)):
        gap = RamTensor(_type((1, 24)))
        x = RamTensor(kind, picture)
        second_gap = RamTensor(_type((1, 24)))
        middle = RamTensor(kind)
        places = [x.handle.address, middle.handle.address]
        bound = bind(conv, input=x, filter=weights, output=middle)
        bound.step(0)
        gap.free()
        second_gap.free()
        y = RamTensor(kind)  # fits only where what is free is one piece
        assert [x.handle.address, middle.handle.address] == [0, 48] != places
        for step in range(1, bound.steps):
            bound.step(step)
        relu = bind(ops.Relu(), input=middle, output=y)
        x.free()
        RamTensor(_type((1, 80)))
        assert middle.handle.address == 0
        relu.eval()
        assert (y.to_array() == wanted).all()


@pytest.mark.parametrize("place", ["whole", "rows"])
def test_fast_operator_holds_no_pin_between_rows(place: str) -> None:
    """After each step all blocks can move, and the last 50 events still have the rebalance that came before 30 rows."""
    history = ErrorHandler(50)
    x, y = _type((1, 8, 8, 1)), _type((1, 8, 8, 2), 2.0)
    arena = HandleArena(320, handler=history)
    with Context(ram=arena, handler=history):
        weights = RamTensor(_type((2, 3, 3, 1), 1.0), _values(_type((2, 3, 3, 1)), 1))
        camera = CameraTensor(x, iter(_values(x)[0]), keep=3)
        source: TensorInterface = RamTensor(x, _values(x)) if place == "whole" else camera
        output: TensorInterface = RamTensor(y) if place == "whole" else RowTensor(y, ring=2)
        arena.rebalance()
        bound = bind(ops.Conv2D(padding=ops.Padding.SAME), input=source, filter=weights, output=output)
        for step in range(bound.steps):
            bound.step(step)
            assert not any(block.is_pinned for block in arena.blocks())
    kinds = [event.type for event in history]
    assert ArenaRebalancing in kinds
    assert PinOutlived not in kinds


def test_error_inside_an_operator_leaves_the_arena_free_to_move() -> None:
    """A fast operator that fails holds no bytes afterwards."""

    class Failing(ops.Relu):
        __slots__ = ()
        is_fast: ClassVar[bool] = True

        def reference(self, view: NodeView) -> Callable[[Rows], Array]:
            del view

            def row(rows: Rows) -> Array:
                raise OperatorError(f"{len(rows)} inputs and no idea")

            return row

    kind = _type((1, 4, 4, 2))
    with Context(handler=ErrorHandler()):
        x, y = RamTensor(kind, _values(kind)), RamTensor(kind)
        with pytest.raises(OperatorError, match="no idea"):
            bind(Failing(), input=x, output=y).eval()
        assert not x.handle.is_pinned


def test_bound_operator_says_what_it_is() -> None:
    """The operator and the names of its tensors are shown."""
    layer = _Layer.make()
    bound = bind(layer.op, **layer.operands)
    assert "input='x', filter='w', bias='b', output='y'" in repr(bound)
    assert bound.op is layer.op
    assert bound.output is layer.operands["output"]


@pytest.mark.parametrize("number", [1 << 31, -(1 << 31) - 1, 1 << 40, 10**400, np.int64(1 << 40)])
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda number: ops.Conv2D(stride=(1, number)), "stride"),
        (lambda number: ops.Conv2D(dilation=(number, 1)), "dilation"),
        (lambda number: ops.Conv2D(padding=ops.ExplicitPadding((0, number), (0, 0))), "padding"),
    ],
)
def test_number_beyond_32_bits_is_refused_with_what_to_give(
    make: Callable[[int], Operator], name: str, number: int
) -> None:
    """No kernel holds it, so that the operator takes it nowhere; the error names the attribute and its range."""
    with pytest.raises(
        InputError, match=f"{name} is .*, which 32 bits do not hold.* Give {name} a number from -2147483648"
    ):
        bind(make(number), **_Layer.make().operands)
