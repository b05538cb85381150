"""Additions and subtractions rounded once give the general kernel's bytes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kibi.dtypes import Array
from kibi.ir import KernelCall
from kibi.kernels.params import PARAMS
from kibi.kernels.params.binary import AddLinearParams, AddLinearScalarParams
from kibi.quant import quantize_multiplier
from kibi.selection.add_linear import ADD_LINEAR, pack_add, pack_add_scalar, pack_sub, pack_sub_scalar
from tests.kernels.on_core import ARMV7EM, PORTABLE, Case, KernelOnCore
from tests.kernels.overlaps import probes_of, run
from tests.ops.comparison import graph_of
from tests.support.amount import sample
from tests.support.operator_models import s8_case

Values = dict[str, int | Array]
_FAST = ADD_LINEAR[0].kernel
_BUILDS = (("cortex-m4", "zig", "s"), ("cortex-m4", "gcc", "2"), ("cortex-m33", "zig", "2"))
_PACKS = {"kibi_add_s8": pack_add, "kibi_sub_s8": pack_sub}
_SCALAR = "kibi_add_s8_linear_scalar"
_SCALAR_PACKS = {"kibi_add_s8": pack_add_scalar, "kibi_sub_s8": pack_sub_scalar}
_LAYERS = 40
_FEWEST_PACKED = 35


def _layer(rng: np.random.Generator) -> Values:
    """An addition with scales like those of real ones, or far apart."""
    scales = np.exp(rng.uniform(-1, 1, 2) * (5 if rng.integers(8) == 0 else 1))
    output = float(scales.sum() * rng.uniform(0.4, 1.2))
    twice = 2 * float(scales.max())
    first, second, result = (
        quantize_multiplier(factor) for factor in (scales[0] / twice, scales[1] / twice, twice / ((1 << 20) * output))
    )
    zero1, zero2, zero = (int(rng.choice([-128, 127, int(rng.integers(-128, 128))])) for _ in range(3))
    return {
        "pieces": 1, "elements": int(rng.integers(1, 40)), "rows1": 1, "row_step1": 0, "piece_step1": 1, "step1": 1,
        "row_step2": 0, "piece_step2": 1, "step2": 1, "activation_min": -128, "activation_max": 127,
        "zero_point1": zero1, "multiplier1": first.value, "shift1": first.shift, "zero_point2": zero2,
        "multiplier2": second.value, "shift2": second.shift, "output_zero_point": zero,
        "output_multiplier": result.value, "output_shift": result.shift,
    }  # fmt: skip


def _packed(values: Values, general: str = "kibi_add_s8") -> Values | None:
    call = _PACKS[general](KernelCall(general, PARAMS[general](**values)))
    if call is None:
        return None
    return dict(call.params_as(AddLinearParams).scalars)


@pytest.mark.parametrize("general", _PACKS)
@pytest.mark.parametrize("build", [*_BUILDS, None], ids=str)
def test_drawn_rows_give_the_general_bytes(build: tuple[str, str, str] | None, general: str, tmp_path: Path) -> None:
    """Whatever the scales, the length and the alignment, it writes the same, and nothing beside it; few layers do not fit."""
    name, compiler, level = build or _BUILDS[0]
    sets = ARMV7EM if build else PORTABLE
    fast = KernelOnCore(_FAST, sets, tmp_path / "fast", name=name, compiler=compiler, level=level)
    plain = KernelOnCore(general, PORTABLE, tmp_path / "plain")
    rng, packed_layers = np.random.default_rng(0), 0
    for _ in range(_LAYERS):
        values = _layer(rng)
        packed = _packed(values, general)
        if packed is None:
            continue
        packed_layers += 1
        inputs = [rng.integers(-128, 128, int(values["elements"])).astype(np.int8) for _ in range(2)]
        case = Case(values, [range(2)], inputs, int(values["elements"]), at_end=bool(rng.integers(2)))
        assert fast.run(replace(case, params=packed)) == plain.run(case), case
    assert packed_layers >= _FEWEST_PACKED


@pytest.mark.parametrize("general", _PACKS)
def test_every_pair_of_bytes_gives_the_general_byte(general: str, tmp_path: Path) -> None:
    """All 65,536 sums or differences of a layer, in at most 6.1 instructions for each."""
    fast = KernelOnCore(_FAST, ARMV7EM, tmp_path / "fast")
    plain = KernelOnCore(general, PORTABLE, tmp_path / "plain")
    elements = 1 << 14
    values: Values = _layer(np.random.default_rng(1)) | {"elements": elements}
    packed = _packed(values, general)
    assert packed is not None
    first, second = (plane.reshape(4, -1).astype(np.int8) for plane in np.mgrid[-128:128, -128:128])
    for rows in zip(first, second, strict=True):
        case = Case(values, [range(2)], rows, elements)
        assert fast.run(replace(case, params=packed)) == plain.run(case)
        assert fast.instructions < 6.1 * elements


@pytest.mark.parametrize("general", _SCALAR_PACKS)
@pytest.mark.parametrize("build", sample([(each,) for each in (*_BUILDS, None)], [(_BUILDS[0],), (None,)]), ids=str)
def test_rows_and_single_elements_give_the_general_bytes(
    build: tuple[str, str, str] | None, general: str, tmp_path: Path
) -> None:
    """Whichever input is the single element; of long rows in few instructions for each."""
    name, compiler, level = build or _BUILDS[0]
    fast = KernelOnCore(
        _SCALAR, ARMV7EM if build else PORTABLE, tmp_path / "fast", name=name, compiler=compiler, level=level
    )
    plain = KernelOnCore(general, PORTABLE, tmp_path / "plain")
    rng, packed_layers = np.random.default_rng(0), 0
    for number in range(_LAYERS):
        values = _layer(rng) | {
            "elements": 1000 if number == 0 else int(rng.integers(1, 40)),
            f"step{1 + number % 2}": 0,
        }
        call = _SCALAR_PACKS[general](KernelCall(general, PARAMS[general](**values)))
        if call is None:
            continue
        packed_layers += 1
        elements = int(values["elements"])
        inputs = [rng.integers(-128, 128, elements if values[f"step{k}"] else 1).astype(np.int8) for k in (1, 2)]
        case = Case(values, [range(2)], inputs, elements, at_end=bool(rng.integers(2)))
        packed = dict(call.params_as(AddLinearScalarParams).scalars)
        assert fast.run(replace(case, params=packed)) == plain.run(case), case
        assert elements < 1000 or build is None or fast.instructions < 5.6 * elements
    assert packed_layers >= _FEWEST_PACKED


def test_general_kernel_of_the_set_gives_the_portable_bytes(tmp_path: Path) -> None:
    """Whichever input is halved, whatever is cut off, and where sums lie between two outputs."""
    own = KernelOnCore("kibi_add_s8", ARMV7EM, tmp_path / "own")
    plain = KernelOnCore("kibi_add_s8", PORTABLE, tmp_path / "plain")
    rng, elements = np.random.default_rng(3), 1 << 12
    # One input counts a millionth of the other: halves of it decide how halves of the sum are rounded.
    tie: Values = {
        "zero_point1": 0, "multiplier1": 1 << 30, "shift1": 0, "zero_point2": 0, "multiplier2": 1 << 30, "shift2": -20,
        "output_zero_point": 0, "output_multiplier": 1 << 30, "output_shift": -19,
    }  # fmt: skip
    swapped: Values = {"multiplier1": 1 << 30, "shift1": -20, "multiplier2": 1 << 30, "shift2": 0}
    cut: Values = {"activation_min": -5, "activation_max": 60}
    changes: list[Values] = [{}, {}, {}, cut, {"step1": 0}, {"step2": 0}, tie, tie | swapped]
    for change in changes:
        values = _layer(rng) | {"elements": elements} | change
        inputs = [rng.integers(-128, 128, elements).astype(np.int8) for _ in range(2)]
        case = Case(values, [range(2)], inputs, elements)
        assert own.run(case) == plain.run(case), change


def test_inputs_that_broadcast_and_clamps_are_left_to_the_general_kernel() -> None:
    """So are layers with factors beyond what fits."""
    values = _layer(np.random.default_rng(1))
    others: tuple[Values, ...] = (
        {"step1": 0}, {"step2": 0}, {"pieces": 2}, {"activation_min": 0}, {"activation_max": 6},
        {"output_multiplier": 1 << 30, "output_shift": 0},
    )  # fmt: skip
    for general in _PACKS:
        assert _packed(values, general) is not None
        for other in others:
            assert _packed(values | other, general) is None


def test_layer_that_one_rounding_would_change_is_left_to_the_general_kernel() -> None:
    """Halves are rounded away from zero by the rule: with both signs among them no one start gives that."""
    half = {"multiplier1": 1 << 30, "shift1": 0, "multiplier2": 1 << 30, "shift2": 0, "output_multiplier": 1 << 30}
    zeros = {"zero_point1": 0, "zero_point2": 0, "output_zero_point": 0}
    values = _layer(np.random.default_rng(1)) | half | zeros
    assert _packed(values | {"output_shift": -18}) is not None
    assert _packed(values | {"output_shift": -19}) is None


def test_output_over_an_input_or_below_it_gets_the_same_bytes(tmp_path: Path) -> None:
    """It may be written over either input, wherever it begins, as plans may do with the general kernel."""
    rng = np.random.default_rng(0)
    graphs = [graph_of(s8_case(operator, seed)) for operator in ("ADD", "SUB") for seed in range(30)]
    probes = []
    for probe in (probe for graph in graphs for view in graph.views for probe in probes_of(view, rng)):
        packed = _PACKS[probe.call.kernel](probe.call) if probe.call.kernel in _PACKS else None
        probes += [] if packed is None else [replace(probe, call=packed)]
    assert len(probes) > _LAYERS
    for probe, right in zip(probes, run(probes, tmp_path), strict=True):
        assert all(right[1 + probe.declared :]), probe
