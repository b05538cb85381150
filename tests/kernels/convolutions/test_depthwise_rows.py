"""Depthwise rows of windows of three by three on RISC-V: any place of the windows, and every boundary of their scaling."""

import numpy as np

from kibi.ir import KernelCall
from kibi.quant import requantize
from tests.kernels.emulated import Bench, linked
from tests.quant.boundaries import TRIPLES

_KERNEL = "kibi_depthwise_conv2d_s8"
_BUILD = ("rv32imac", "zig", "s")
_CHANNELS = 5


def _call(channels: int, **given: object) -> KernelCall:
    values: dict[str, object] = {
        "bias": np.zeros(channels, np.int32), "multiplier": np.full(channels, 1 << 30, np.int32),
        "shift": np.full(channels, -6, np.int8), "channels": channels, "input_zero_point": 7, "output_zero_point": 3,
        "activation_min": -100, "activation_max": 120, "kernel_rows": 3, "kernel_width": 3, "dilation": 1, **given,
    }  # fmt: skip
    return KernelCall.of(_KERNEL, values)


def _row(bench: Bench, call: KernelCall, rows: np.ndarray, width: int) -> np.ndarray:
    """The outputs `[width, C]` of three rows `[3, W, C]`."""
    channels = rows.shape[2]
    output = bench.place("output", np.zeros(width * channels, np.int8), writable=True)
    pointers = bench.rows([bench.place(f"row{number}", row.reshape(-1)) for number, row in enumerate(rows)])
    bench.call(_KERNEL, output, pointers, bench.params(call), 0)
    return bench.read(output, width * channels).reshape(width, channels)


def test_windows_at_any_place_equal_the_rule() -> None:
    """Before the input, in it and after it, one or two columns apart, also where a window has nothing but columns outside."""
    kernels, rng, seen = linked((_KERNEL,), *_BUILD), np.random.default_rng(0), set[tuple[int, int]]()
    for stride in (1, 2):
        for pad in range(-2, 3):
            for width in range(max(1, 1 - pad), 8):
                outputs = max(1, (width + 2 * max(pad, 0) - min(pad, 0) - 3) // stride + 1 + int(rng.integers(0, 2)))
                rows = rng.integers(-128, 128, (3, width, _CHANNELS)).astype(np.int8)
                weights = rng.integers(-128, 128, (3, 3, _CHANNELS)).astype(np.int8)
                call = _call(
                    _CHANNELS,
                    filter=weights.reshape(-1),
                    input_width=width,
                    output_width=outputs,
                    stride=stride,
                    pad=pad,
                )
                found = _row(Bench(kernels, np.random.default_rng(1)), call, rows, outputs)
                columns = np.arange(outputs)[:, None] * stride - pad + np.arange(3)
                inside = (columns >= 0) & (columns < width)
                taken = np.where(inside[None, ..., None], rows[:, np.clip(columns, 0, width - 1)].astype(np.int64), 7)
                sums = (taken * weights[:, None].astype(np.int64)).sum(axis=(0, 2)).astype(np.int32)
                scaled = requantize(sums, np.int32(1 << 30), np.int32(-6)) + 3
                np.testing.assert_array_equal(found, np.clip(scaled, -100, 120), f"{stride} {pad} {width} {outputs}")
                seen.add((int((~inside[0]).sum()), int((~inside[-1]).sum())))
    assert seen >= {(0, 0), (0, 1), (1, 0), (1, 1), (2, 2)}


def test_every_boundary() -> None:
    """Sums of nothing but the bias, each with its multiplier and shift, to the left and to the right."""
    acc, multiplier, shift = np.array(TRIPLES, np.int32).T
    for stride in (1, 2):
        call = _call(
            len(acc), filter=np.zeros(9 * len(acc), np.int8), bias=acc.copy(), multiplier=multiplier.copy(),
            shift=shift.astype(np.int8), input_width=3, output_width=1, stride=stride, pad=0,
        )  # fmt: skip
        bench = Bench(linked((_KERNEL,), *_BUILD), np.random.default_rng(0))
        found = _row(bench, call, np.zeros((3, 3, len(acc)), np.int8), 1)[0]
        moved = (requantize(acc, multiplier, shift).astype(np.int64) + 3 + (1 << 31)) % (1 << 32) - (1 << 31)
        np.testing.assert_array_equal(found, np.clip(moved, -100, 120))
