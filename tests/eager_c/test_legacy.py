"""The earlier operators of uint8: C gives Python's bits; Python gives those of int8 where both can say the same."""

import ctypes
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kibi import ops
from kibi.dtypes import Array, DType
from kibi.eager import legacy
from kibi.eager.context import Context
from kibi.eager.operators import bind
from kibi.eager.tensors import RamTensor, RomTensor
from kibi.errors import InputError
from kibi.ir import Quantization, TensorType
from tests.eager_c.library import library
from tests.eager_c.program import CType, Data, Program
from tests.eager_c.test_operators import Pool, Window
from tests.support.amount import amount

_SEEDS = range(amount(30, 400))
_ACTIVATIONS = tuple(ops.Activation)


class _Drawn:
    """Operands of chance, in Python; and the same in C, and, moved down by 128, in int8."""

    def __init__(self, loaded: ctypes.CDLL, seed: int) -> None:
        self.die, self.draw = random.Random(seed), np.random.default_rng(seed)
        self.program = Program(loaded, 30_000, 1000)
        self._kept: list[object] = []
        self.activation = self.die.choice(_ACTIVATIONS)

    def kind(self, shape: tuple[int, ...], dtype: DType = DType.U8, zero_point: int | None = None) -> TensorType:
        """A type with a scale and zero point of chance."""
        scale = float(np.float32(10 ** self.die.uniform(-2.5, -0.5)))
        zero = self.die.randrange(256) if zero_point is None else zero_point
        return TensorType(shape, dtype, Quantization((scale,), (zero,)) if dtype is not DType.F32 else None)

    def values(self, kind: TensorType) -> Array:
        """Elements of chance."""
        if kind.dtype is DType.F32:
            return np.asarray(self.draw.normal(0, 20, kind.shape), np.float32)
        low, high = (-500, 500) if kind.dtype is DType.S32 else (0, 256)
        return self.draw.integers(low, high, kind.shape).astype(kind.dtype.numpy)

    def check(
        self, name: str, kind: TensorType, made: Array, inputs: list[tuple[TensorType, Array] | None], *more: Any
    ) -> None:
        """C makes the same of the same."""
        output = np.zeros(kind.shape, kind.dtype.numpy)
        data = [each and self._tensor("rom", *each) for each in inputs]
        pointers = [None if each is None else ctypes.byref(each) for each in data]
        target = ctypes.byref(self._tensor("buffer", kind, output))
        status = self.program.library[f"kibi_op_{name}"](ctypes.byref(self.program.context), target, *pointers, *more)
        self.program.check(status, 0)
        assert (output == made).all()
        assert self.program.metadata.call("available") == 30_000

    def _tensor(self, place: str, kind: TensorType, array: Array) -> Data:
        described = CType.of(kind)
        self._kept += [described, array]
        return Data(self.program.access(place), ctypes.addressof(described), array.ctypes.data)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The library."""
    return library(tmp_path_factory.mktemp("eager"))


def _evaluated(kind: TensorType, compute: Callable[[RamTensor], object]) -> Array:
    output = RamTensor(kind)
    compute(output)
    return output.to_array()


def _s8(kind: TensorType) -> TensorType:
    """The int8 type whose elements are 128 below."""
    assert kind.quantization is not None
    return TensorType(
        kind.shape, DType.S8, Quantization(kind.quantization.scales, (kind.quantization.zero_point - 128,))
    )


def _down(values: Array) -> Array:
    return (values.astype(np.int16) - 128).astype(np.int8)


def _as_s8(op: Any, kind: TensorType, **operands: tuple[TensorType, Array]) -> Array:
    """What the operator of int8 makes of the elements moved down, moved up again."""
    moved = {name: RomTensor(_s8(each), _down(values)) for name, (each, values) in operands.items()}
    output = RamTensor(_s8(kind))
    bind(op, **moved, output=output).eval()
    return (output.to_array().astype(np.int16) + 128).astype(np.uint8)


@pytest.mark.parametrize("seed", _SEEDS)
def test_add_is_that_of_int8_and_cs(loaded: ctypes.CDLL, seed: int) -> None:
    """Two tensors of one shape."""
    d = _Drawn(loaded, seed)
    a, b, c = (d.kind((1, 3, 4, 2)) for _ in range(3))
    x, y = d.values(a), d.values(b)
    with Context():
        made = _evaluated(c, lambda out: legacy.add_u8(out, RomTensor(a, x), RomTensor(b, y), d.activation))
        assert (made == _as_s8(ops.Add(activation=d.activation), c, input1=(a, x), input2=(b, y))).all()
    d.check("add_u8", c, made, [(a, x), (b, y)], _ACTIVATIONS.index(d.activation))


@pytest.mark.parametrize("seed", _SEEDS)
def test_fully_connected_is_that_of_int8_and_cs(loaded: ctypes.CDLL, seed: int) -> None:
    """With a filter whose zero point is 128, int8 says the same; with any, C does."""
    d = _Drawn(loaded, seed)
    depth, outputs, vectors = d.die.randrange(1, 30), d.die.randrange(1, 6), d.die.randrange(1, 4)
    a, c = d.kind((vectors, depth)), d.kind((vectors, outputs))
    w = d.kind((outputs, depth), zero_point=d.die.choice((128, None)))
    z = TensorType((outputs,), DType.S32)
    x, weights, bias = d.values(a), d.values(w), d.values(z) if d.die.random() < 0.7 else None
    with Context():
        given = None if bias is None else RomTensor(z, bias)
        source, filters = RomTensor(a, x), RomTensor(w, weights)
        made = _evaluated(
            c, lambda out: legacy.fully_connected_u8(out, source, filters, given, activation=d.activation)
        )
        if w.quantization == Quantization(w.quantization.scales, (128,)) and bias is None:  # type: ignore[union-attr]  # it has one
            wanted = _as_s8(ops.FullyConnected(activation=d.activation), c, input=(a, x), filter=(w, weights))
            assert (made == wanted).all()
    operands = [(a, x), (w, weights), None if bias is None else (z, bias)]
    d.check("fully_connected_u8", c, made, operands, _ACTIVATIONS.index(d.activation))


@pytest.mark.parametrize("seed", _SEEDS)
def test_windows_are_those_of_int8_and_cs(loaded: ctypes.CDLL, seed: int) -> None:
    """The depthwise convolution, and the largest of windows, at every border."""
    d = _Drawn(loaded, seed)
    channels, multiplier, padding = d.die.randrange(1, 4), d.die.randrange(1, 3), d.die.choice(tuple(ops.Padding))
    size, kernel, stride = ([d.die.randrange(low, high) for _ in range(2)] for low, high in ((3, 9), (1, 4), (1, 3)))
    spans = zip(size, kernel, stride, strict=True)
    made_size = [padding.output_size(n, k, s, 1) for n, k, s in spans]
    a = d.kind((2, *size, channels))
    x, is_same = d.values(a), int(padding is ops.Padding.SAME)
    window = Window(*stride, 1, 1, is_same, _ACTIVATIONS.index(d.activation))
    c = d.kind((2, *made_size, channels * multiplier))
    w = d.kind((1, *kernel, channels * multiplier), zero_point=d.die.choice((128, None)))
    weights = d.values(w)
    pooled = TensorType((2, *made_size, channels), DType.U8, a.quantization)
    options = {"stride": (stride[0], stride[1]), "padding": padding, "activation": d.activation}
    with Context():
        source, filters = RomTensor(a, x), RomTensor(w, weights)
        made = _evaluated(c, lambda out: legacy.depthwise_conv2d_u8(out, source, filters, **options))  # type: ignore[arg-type]
        if w.quantization is not None and w.quantization.zero_point == 128:
            assert (made == _as_s8(ops.DepthwiseConv2D(**options), c, input=(a, x), filter=(w, weights))).all()  # type: ignore[arg-type]
        most = _evaluated(
            pooled,
            lambda out: legacy.max_pool2d_u8(out, source, kernel=(kernel[0], kernel[1]), **options),  # type: ignore[arg-type]
        )
        pool = ops.MaxPool2D(kernel=(kernel[0], kernel[1]), **options)  # type: ignore[arg-type]
        assert (most == _as_s8(pool, pooled, input=(a, x))).all()
    d.check("depthwise_conv2d_u8", c, made, [(a, x), (w, weights), None], ctypes.byref(window))
    d.check("max_pool2d_u8", pooled, most, [(a, x)], ctypes.byref(Pool(*kernel, window)))


@pytest.mark.parametrize("seed", _SEEDS)
def test_numbers_and_places_are_those_of_int8_and_cs(loaded: ctypes.CDLL, seed: int) -> None:
    """From floats, to floats, and the place of the largest element."""
    d = _Drawn(loaded, seed)
    f, c = d.kind((1, 3, 4, 2), DType.F32), d.kind((1, 3, 4, 2))
    x, axis = d.values(f), d.die.randrange(4)
    x.reshape(-1)[:3] = [np.nan, np.inf, -np.inf]
    shape = tuple(size for at, size in enumerate((1, 3, 4, 2)) if at != axis)
    places = TensorType(shape, DType.S32)
    with Context():
        made = _evaluated(c, lambda out: legacy.quantize_u8(out, RomTensor(f, x)))
        moved = RamTensor(_s8(c))
        bind(ops.Quantize(), input=RomTensor(f, x), output=moved).eval()
        assert (_down(made) == moved.to_array()).all()
        back = _evaluated(f, lambda out: legacy.dequantize_u8(out, RomTensor(c, made)))
        direct = RamTensor(f)
        bind(ops.Dequantize(), input=RomTensor(c, made), output=direct).eval()
        assert back.tobytes() == direct.to_array().tobytes()
        found = _evaluated(places, lambda out: legacy.arg_max_u8(out, RomTensor(c, made), axis))
        assert (found == np.argmax(made, axis)).all()
    d.check("quantize_u8", c, made, [(f, x)])
    d.check("dequantize", f, back, [(c, made)])
    d.check("arg_max_u8", places, found, [(c, made)], axis)


def test_what_does_not_fit_is_told_by_name() -> None:
    """Types, shapes, scales and windows."""
    kind = TensorType((1, 4, 4, 2), DType.U8, Quantization((0.5,), (3,)))
    other = TensorType((1, 2, 2, 2), DType.U8, Quantization((0.5,), (3,)))
    with Context():
        a, b = RamTensor(kind, name="a"), RamTensor(other, name="b")
        plain = RamTensor(TensorType((1, 4, 4, 2), DType.S8), name="plain")
        wrong: list[tuple[str, Callable[[], object]]] = [
            ("shapes differ", lambda: legacy.add_u8(a, a, b)),
            ("'plain' is .*not uint8", lambda: legacy.add_u8(a, a, plain)),
            ("window makes 3 of 4", lambda: legacy.max_pool2d_u8(b, a, kernel=(2, 2))),
            ("below 1", lambda: legacy.max_pool2d_u8(b, a, kernel=(2, 2), stride=(0, 1))),
            ("has not four axes", lambda: legacy.depthwise_conv2d_u8(a, a, RamTensor(TensorType((3,), DType.U8)))),
            ("filter of .* does not fit", lambda: legacy.fully_connected_u8(a, a, b)),
            ("no tensor of floats", lambda: legacy.quantize_u8(a, a)),
            ("no tensor of floats", lambda: legacy.dequantize_u8(a, a)),
            ("axis 7", lambda: legacy.arg_max_u8(a, a, 7)),
        ]
        for text, call in wrong:
            with pytest.raises(InputError, match=text):
                call()
