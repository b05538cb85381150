"""Depthwise convolution, addition and pooling for the DSP extension give the portable kernels' bytes."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.kernels.on_core import ARMV7EM, PORTABLE, Case, KernelOnCore
from tests.quant.boundaries import TRIPLES
from tests.support.amount import amount, sample

Draw = Callable[[np.random.Generator], Case]
_CASES = amount(25, 60)
_CHANNELS = 3001
_SMALL = 256
"""Elements of a window whose sums fit 16 bits."""
_LIMITS = ((-128, 127), (-128, 127), (-128, 20), (-10, 127), (0, 0), (30, -30))
_BUILDS = (("cortex-m4", "zig", "s"), ("cortex-m33", "zig", "2"), ("cortex-m4", "gcc", "2"), ("cortex-m4", "gcc", "s"))


def _scaling(rng: np.random.Generator, channels: int) -> dict[str, int | np.ndarray]:
    """Multipliers, shifts and biases: those of real layers, or any that the contract allows."""
    if rng.integers(3):
        multiplier = rng.integers(1 << 30, 1 << 31, channels)
        shift, bias = rng.integers(-12, -2, channels), rng.integers(-30000, 30000, channels)
    else:
        multiplier = rng.choice([0, 1, 1 << 30, (1 << 31) - 1, 1234567890], channels)
        shift = rng.choice([-31, -30, -8, -1, 0, 1, 30], channels)
        bias = rng.choice([-(1 << 30), (1 << 30) - 1, 0, 123456789], channels)
    low, high = _LIMITS[rng.integers(len(_LIMITS))]
    return {
        "multiplier": multiplier.astype(np.int32), "shift": shift.astype(np.int8), "bias": bias.astype(np.int32),
        "output_zero_point": int(rng.integers(-128, 128)), "activation_min": low, "activation_max": high,
    }  # fmt: skip


def _bytes(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Any bytes, or extreme ones alone."""
    if rng.integers(4) == 0:
        return rng.choice([-128, 127], shape).astype(np.int8)
    return rng.integers(-128, 128, shape).astype(np.int8)


def depthwise(rng: np.random.Generator) -> Case:
    """A row of a depthwise convolution of any shape; every other one has a kernel three wide."""
    channels = int(rng.choice([*range(1, 13), 15, 16, 17, 20, 24, 33]))
    width = 3 if rng.integers(2) else int(rng.integers(1, 8))
    kernel_rows = int(rng.integers(1, 5))
    if rng.integers(12) == 0:
        width, kernel_rows = int(rng.choice([51, 52])), 5  # 255 taps and more
    dilation, stride = (1, 2)[int(rng.integers(8) == 0)], int(rng.integers(1, 4))
    reach = (width - 1) * dilation
    pad = int(rng.integers(0, reach + 2))
    input_width = int(rng.integers(1, 12))
    output_width = int(rng.integers(1, max(2, (input_width + 2 * pad - reach) // stride + 2)))
    taps = kernel_rows * width
    params = {
        **_scaling(rng, channels), "filter": _bytes(rng, taps, channels), "input_width": input_width,
        "channels": channels, "input_zero_point": int(rng.choice([-128, 127, 0, 5])), "output_width": output_width,
        "kernel_rows": kernel_rows, "kernel_width": width, "stride": stride, "dilation": dilation, "pad": pad,
    }  # fmt: skip
    inputs = [_bytes(rng, input_width * channels) for _ in range(kernel_rows)]
    return Case(params, [range(kernel_rows)], inputs, output_width * channels, at_end=bool(rng.integers(2)))


def add(rng: np.random.Generator) -> Case:
    """A row of an addition: of two rows of the same shape in pieces or not, or with one that broadcasts."""
    pieces, elements = int(rng.integers(1, 5)), int(rng.integers(1, 40))
    kind = int(rng.integers(3))
    steps = ((1, 1), (1, 1), (1, 0), (0, 1))[int(rng.integers(4))]
    halved = (1 << 30, 0)
    other = (int(rng.integers(1 << 30, 1 << 31)), -int(rng.choice([0, 1, 2, 5, 31])))
    both = [halved, other] if kind == 0 else [other, halved] if kind == 1 else [other, other]
    low, high = _LIMITS[rng.integers(len(_LIMITS))]
    params: dict[str, int | np.ndarray] = {
        "pieces": pieces, "elements": elements, "rows1": 1, "activation_min": low, "activation_max": high,
        "output_zero_point": int(rng.integers(-128, 128)), "output_shift": -int(rng.choice([0, 1, 16, 17, 18, 19, 31])),
        "output_multiplier": int(rng.choice([0, 1 << 30, (1 << 31) - 1, int(rng.integers(1 << 30, 1 << 31))])),
    }  # fmt: skip
    for number, (step, (multiplier, shift)) in enumerate(zip(steps, both, strict=True), start=1):
        params |= {
            f"row_step{number}": 0, f"piece_step{number}": elements if step else 1, f"step{number}": step,
            f"zero_point{number}": int(rng.integers(-128, 128)), f"multiplier{number}": multiplier,
            f"shift{number}": shift,
        }  # fmt: skip
    inputs = [_bytes(rng, pieces * elements) for _ in range(2)]
    return Case(params, [range(2)], inputs, pieces * elements, at_end=bool(rng.integers(2)))


def mul(rng: np.random.Generator) -> Case:
    """A row of a multiplication: of two rows of the same shape in pieces or not, or with one that broadcasts."""
    case = add(rng)
    fields = ("pieces", "elements", "rows1", "activation_min", "activation_max", "output_zero_point")
    names = (*fields, *(f"{name}{of}" for name in ("row_step", "piece_step", "step", "zero_point") for of in (1, 2)))
    params = {name: case.params[name] for name in names} | {
        "output_shift": int(rng.choice([-31, -16, -9, -7, -3, -2, -1, 0, 1])),
        "output_multiplier": int(rng.choice([0, 1 << 30, (1 << 31) - 1, int(rng.integers(1 << 30, 1 << 31))])),
    }
    return replace(case, params=params)


def _pooled(rng: np.random.Generator) -> tuple[dict[str, int | np.ndarray], int]:
    """Fields that all poolings share, with a window that nowhere misses the input; and the kernel's rows."""
    channels, width = int(rng.integers(1, 14)), int(rng.integers(1, 7))
    input_width, stride = int(rng.integers(width, 15)), int(rng.integers(1, 4))
    pad = int(rng.integers(0, width))
    low, high = _LIMITS[rng.integers(4)]
    params: dict[str, int | np.ndarray] = {
        "input_width": input_width, "channels": channels, "kernel_width": width, "stride": stride, "pad": pad,
        "output_width": 1 + (input_width - 1 + pad - (width - 1) // 2) // stride, "activation_min": low,
        "activation_max": high,
    }  # fmt: skip
    while (int(params["output_width"]) - 1) * stride - pad >= input_width:
        params["output_width"] -= 1
    return params, int(rng.integers(1, 6))


def pooling(rng: np.random.Generator) -> Case:
    """A row of a pooling; some rows are outside."""
    params, kernel_rows = _pooled(rng)
    inputs = [_bytes(rng, int(params["input_width"]) * int(params["channels"])) for _ in range(kernel_rows)]
    above = int(rng.integers(0, kernel_rows))
    below = int(rng.integers(0, kernel_rows - above))
    rows = [row if above <= row < kernel_rows - below else None for row in range(kernel_rows)]
    output_bytes = int(params["output_width"]) * int(params["channels"])
    return Case({**params, "kernel_rows": kernel_rows}, [rows], inputs, output_bytes, at_end=bool(rng.integers(2)))


def accumulating(rng: np.random.Generator) -> Case:
    """A pooling to one output row, row by row."""
    params, steps = _pooled(rng)
    inputs = [_bytes(rng, int(params["input_width"]) * int(params["channels"])) for _ in range(steps)]
    output_bytes = int(params["output_width"]) * int(params["channels"])
    return Case(
        {**params, "steps": steps}, [[row] for row in range(steps)], inputs, output_bytes, 4 * output_bytes,
        at_end=bool(rng.integers(2)), steps=steps,
    )  # fmt: skip


def small(rng: np.random.Generator) -> Case:
    """The same with sums of 16 bits; some windows have 256 elements, and the least or the largest sums that there can be."""
    case = accumulating(rng)
    if rng.integers(3):
        return replace(case, scratch_bytes=case.scratch_bytes // 2)
    channels, width = int(case.params["channels"]), int(rng.choice([4, 16, 64]))
    window = {"input_width": width, "kernel_width": width, "output_width": 1, "pad": 0, "steps": _SMALL // width}
    inputs = [np.repeat(rng.choice([-128, 127]), width * channels).astype(np.int8)] * (_SMALL // width)
    rows = [[row] for row in range(_SMALL // width)]
    return Case({**case.params, **window}, rows, inputs, channels, 2 * channels, at_end=case.at_end, steps=len(rows))


_DRAWS: dict[str, Draw] = {
    "kibi_add_s8": add,
    "kibi_average_pool2d_s8": pooling,
    "kibi_average_pool2d_s8_accumulate": accumulating,
    "kibi_average_pool2d_s8_accumulate_small": small,
    "kibi_depthwise_conv2d_s8": depthwise,
    "kibi_max_pool2d_s8": pooling,
    "kibi_max_pool2d_s8_accumulate": accumulating,
    "kibi_mul_s8": mul,
}


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize(
    ("kernel", "name", "compiler", "level"), sample((kernel, *build) for kernel in sorted(_DRAWS) for build in _BUILDS)
)
def test_kernel_drawn_case_gives_the_portable_bytes(
    kernel: str, name: str, compiler: str, level: str, tmp_path: Path
) -> None:
    """Whatever the shape, the scales, the values and the alignment, both kernels write the same, and nothing beside it."""
    fast = KernelOnCore(kernel, ARMV7EM, tmp_path / "fast", name=name, compiler=compiler, level=level)
    plain = KernelOnCore(kernel, PORTABLE, tmp_path / "plain", name=name)
    rng = np.random.default_rng(0)
    for _ in range(_CASES):
        case = _DRAWS[kernel](rng)
        assert fast.run(case) == plain.run(case), case


def test_products_of_every_pair_of_bytes_give_the_portable_bytes(tmp_path: Path) -> None:
    """All 65,536 products with shifts to the right, halves among them, in at most 9.7 instructions for each."""
    own, plain = (KernelOnCore("kibi_mul_s8", sets, tmp_path / sets[0]) for sets in (ARMV7EM, PORTABLE))
    rng, elements = np.random.default_rng(4), 1 << 14
    first, second = (plane.reshape(4, -1).astype(np.int8) for plane in np.mgrid[-128:128, -128:128])
    for multiplier, shift in (
        (1 << 30, -1),
        (1 << 30, -7),
        ((1 << 31) - 1, -9),
        (int(rng.integers(1 << 30, 1 << 31)), -8),
    ):
        params: dict[str, int | np.ndarray] = {
            "pieces": 1, "elements": elements, "rows1": 1, "activation_min": -128, "activation_max": 127,
            "output_zero_point": int(rng.choice([-128, 127, 5])), "output_multiplier": multiplier, "output_shift": shift,
        }  # fmt: skip
        for number in (1, 2):
            zero = int(rng.choice([-128, 127, 0, -3]))
            params |= {
                f"row_step{number}": 0,
                f"piece_step{number}": 0,
                f"step{number}": 1,
                f"zero_point{number}": zero,
            }
        for rows in zip(first, second, strict=True):
            case = Case(params, [range(2)], rows, elements)
            assert own.run(case) == plain.run(case), (multiplier, shift)
            assert own.instructions < 9.7 * elements


def test_requantization_every_boundary_gives_the_portable_bytes(tmp_path: Path) -> None:
    """Sums, multipliers and shifts at all their boundaries, which a depthwise kernel of zeros takes from its biases."""
    triples = np.array(TRIPLES, np.int64)
    kernel = "kibi_depthwise_conv2d_s8"
    fast, plain = (KernelOnCore(kernel, sets, tmp_path / sets[0]) for sets in (ARMV7EM, PORTABLE))
    for number, piece in enumerate(np.array_split(triples, -(-len(triples) // _CHANNELS))):
        # Shifts to the right alone go four at once; the last ones of each piece, sorted, do not.
        acc, multiplier, shift = piece[np.argsort(piece[:, 2], kind="stable")].T
        low, high = _LIMITS[number % len(_LIMITS)]
        params: dict[str, int | np.ndarray] = {
            "multiplier": multiplier.astype(np.int32), "shift": shift.astype(np.int8), "bias": acc.astype(np.int32),
            "output_zero_point": (0, -128, 127, 3)[number % 4], "activation_min": low, "activation_max": high,
            "filter": np.zeros(len(piece), np.int8), "input_width": 1, "channels": len(piece), "input_zero_point": 0,
            "output_width": 1, "kernel_rows": 1, "kernel_width": 1, "stride": 1, "dilation": 1, "pad": 0,
        }  # fmt: skip
        case = Case(params, [[0]], [np.zeros(len(piece), np.int8)], len(piece))
        assert fast.run(case) == plain.run(case)
