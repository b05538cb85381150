"""Fully connected layers from Golomb-Rice codes give the general kernel's bytes."""

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kibi.ir import KernelCall
from kibi.kernels import closure
from kibi.kernels.params.fully_connected import FullyConnectedRiceParams
from kibi.ops.overlap import least_distance
from kibi.selection.fully_connected_rice import FULLY_CONNECTED_RICE, RICE_ACCUMULATE, pack, pack_accumulate
from kibi.toolchain import build_program
from tests.kernels.on_core import ARMV7EM, PORTABLE, Case, KernelOnCore
from tests.kernels.overlaps import probes_of, run
from tests.kernels.test_fully_connected_variants import Values, fully_connected
from tests.ops.comparison import graph_of
from tests.support.amount import amount, sample
from tests.support.kernel_files import portable_folder
from tests.support.operator_models import s8_case
from tests.toolchain.tools import check_gcc

_KERNEL, _GENERAL = FULLY_CONNECTED_RICE.kernel, FULLY_CONNECTED_RICE.of
_BUILDS = sample(
    [
        ("cortex-m4", "zig", "s", ARMV7EM), ("cortex-m4", "gcc", "2", ARMV7EM), ("cortex-m33", "zig", "2", ARMV7EM),
        ("cortex-m4", "gcc", "s", PORTABLE), ("cortex-m3", "zig", "2", PORTABLE), ("cortex-m0plus", "zig", "s", PORTABLE),
        ("cortex-m0plus", "gcc", "2", PORTABLE),
    ],
    {("cortex-m4", "zig", "s", ARMV7EM), ("cortex-m4", "gcc", "2", ARMV7EM), ("cortex-m0plus", "zig", "s", PORTABLE)},
)  # fmt: skip
_CASES = 40


def _drawn(rng: np.random.Generator) -> tuple[Values, list[int]]:
    """A call of the general kernel and the sizes of its rows; weights of any distribution, -128 among them.

    Mostly outputs are scaled so that they use their range, and differ where one weight does.
    """
    values, rows = fully_connected(rng)
    channels, depth = int(values["output_channels"]), int(values["depth"])
    width = float(rng.choice([0, 0.5, 2, 8, 30, 100]))
    size = channels * depth
    drawn = rng.normal(rng.integers(-20, 20), width, size) if rng.integers(4) else rng.choice([-128, 127, 0], size)
    values |= {"filter": np.clip(np.round(drawn), -128, 127).astype(np.int8)}
    if rng.integers(4):
        most = 75 * np.sqrt(depth * np.mean(np.square(drawn)) + 1)
        values |= {
            "bias": rng.integers(-50, 50, channels).astype(np.int32), "output_zero_point": int(rng.integers(-9, 9)),
            "multiplier": np.full(channels, 1 << 30, np.int32), "activation_min": -128, "activation_max": 127,
            "shift": np.full(channels, min(-1, int(np.log2(100 / most))), np.int8),
        }  # fmt: skip
    return values, rows


def _packed(values: Values) -> Values:
    call = pack(KernelCall.of(_GENERAL, values))
    return {name: value for name, value in call.by_name.items() if isinstance(value, int | np.ndarray)}


def _cases(rng: np.random.Generator) -> tuple[Case, Case]:
    """The same task for the general kernel and for the one that decodes."""
    values, rows = _drawn(rng)
    inputs = [rng.integers(-128, 128, size).astype(np.int8) for size in rows]
    output_bytes = int(values["vectors"]) * int(values["output_channels"])
    case = Case(values, [range(len(rows))], inputs, output_bytes, at_end=bool(rng.integers(2)))
    return case, replace(case, params=_packed(values))


@pytest.mark.parametrize(("name", "compiler", "level", "sets"), _BUILDS)
def test_drawn_layer_gives_the_general_bytes(
    name: str, compiler: str, level: str, sets: tuple[str, ...], tmp_path: Path
) -> None:
    """Whatever the shape and the weights, it writes the same, and reads nothing after the stream, where its memory ends."""
    coded = KernelOnCore(_KERNEL, sets, tmp_path / "coded", name=name, compiler=compiler, level=level)
    plain = KernelOnCore(_GENERAL, PORTABLE, tmp_path / "plain")
    rng = np.random.default_rng(0)
    for _ in range(amount(_CASES, 400)):
        case, own = _cases(rng)
        assert coded.run(own) == plain.run(case), case


def _by_rows(rng: np.random.Generator) -> tuple[Case, Case]:
    """The same of one vector whose rows come step by step."""
    values, _ = _drawn(rng)
    depth, pieces = int(values["depth"]), int(rng.choice([1, 2, 3, 5]))
    values |= {"vectors": 1, "pieces": pieces, "piece": depth}
    values |= {"filter": np.concatenate([rng.permutation(np.asarray(values["filter"])) for _ in range(pieces)])}
    given = {name: value for name, value in values.items() if name not in ("depth", "vectors_per_row")}
    packed = pack_accumulate(KernelCall.of(RICE_ACCUMULATE.of, given))
    assert packed is not None
    inputs = [rng.integers(-128, 128, int(values["piece"])).astype(np.int8) for _ in range(pieces)]
    channels = int(values["output_channels"])
    case = Case(
        given, [[step] for step in range(pieces)], inputs, channels, scratch_bytes=4 * channels,
        at_end=bool(rng.integers(2)), steps=pieces,
    )  # fmt: skip
    own = {name: value for name, value in packed.by_name.items() if isinstance(value, int | np.ndarray)}
    return case, replace(case, params=own, scratch_bytes=packed.scratch_bytes)


@pytest.mark.parametrize(("name", "compiler", "level", "sets"), _BUILDS)
def test_drawn_layer_that_adds_rows_up_gives_the_general_bytes(
    name: str, compiler: str, level: str, sets: tuple[str, ...], tmp_path: Path
) -> None:
    """Whatever the rows are, it goes on in the codes where the step before has ended."""
    coded = KernelOnCore(RICE_ACCUMULATE.kernel, sets, tmp_path / "coded", name=name, compiler=compiler, level=level)
    plain = KernelOnCore(RICE_ACCUMULATE.of, PORTABLE, tmp_path / "plain")
    rng = np.random.default_rng(0)
    for _ in range(amount(_CASES, 400)):
        case, own = _by_rows(rng)
        assert coded.run(own) == plain.run(case), case


def test_several_vectors_by_rows_are_left_to_the_general_kernel() -> None:
    """Their codes would be decoded once more for each."""
    values, _ = _drawn(np.random.default_rng(0))
    given = {name: value for name, value in values.items() if name not in ("depth", "vectors_per_row")}
    assert pack_accumulate(KernelCall.of(RICE_ACCUMULATE.of, {**given, "vectors": 2})) is None


def _case_bytes(case: Case) -> bytes:
    """A case as `rice_check.c` reads it."""
    names = ("weights_bytes", "scale_step", "piece", "pieces", "vectors", "vectors_per_row", "output_channels")
    limits = ("output_zero_point", "activation_min", "activation_max")
    numbers = [int(case.params[name]) for name in (*names, *limits)]
    arrays = [np.asarray(case.params[name]) for name in ("weights", "codings", "bias", "multiplier", "shift")]
    return b"".join(each.tobytes() for each in (np.array([*numbers, 0, 0], np.int32), *arrays, *case.inputs))


def test_sanitized_c_on_this_machine_gives_the_bytes_of_python(tmp_path: Path) -> None:
    """Every array is in a block of its own: an access outside of one would end the program."""
    check_gcc()
    sources = [portable_folder() / name for name in closure(frozenset({_KERNEL}), PORTABLE) if name.endswith(".c")]
    harness = Path(__file__).with_name("rice_check.c")
    program = build_program([*sources, harness], compiler="gcc", level="1", includes=[portable_folder()], sanitize=True)
    rng = np.random.default_rng(1)
    cases = [case for case in (_cases(rng)[1] for _ in range(amount(150, 2000))) if len(case.inputs) <= 64]
    done = subprocess.run([str(program)], input=b"".join(map(_case_bytes, cases)), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    plain = KernelOnCore(_GENERAL, PORTABLE, tmp_path)
    rng = np.random.default_rng(1)
    expected = b"".join(plain.run(case) for case, own in (_cases(rng) for _ in cases) if len(own.inputs) <= 64)
    assert done.stdout == expected


def test_output_at_the_declared_distance_gets_the_same_bytes_on_this_machine(tmp_path: Path) -> None:
    """A plan may let outputs begin as near to the input as the call says."""
    rng = np.random.default_rng(0)
    graphs = [graph_of(s8_case("FULLY_CONNECTED", seed)) for seed in range(20)]
    probes = [
        replace(probe, call=call, declared=min(call.inplace_distance_bytes[0], probe.output_bytes))
        for graph in graphs
        for view in graph.views
        for probe in probes_of(view, rng)
        for call in [pack(probe.call) if probe.call.kernel == _GENERAL else None]
        if call is not None and call.inplace_distance_bytes[0] is not None
    ]
    assert any(probe.declared > 0 for probe in probes)
    for probe, right in zip(probes, run(probes, tmp_path), strict=True):
        assert all(right[1 + probe.declared :]), probe


def test_scales_that_channels_share_are_stored_once() -> None:
    """Quantization per tensor has one multiplier; per channel, each channel has its own."""
    values, _ = _drawn(np.random.default_rng(0))
    channels = int(values["output_channels"])
    shared = values | {"multiplier": np.full(channels, 1 << 30, np.int32), "shift": np.full(channels, -6, np.int8)}
    own = shared | {"shift": np.arange(-channels, 0).astype(np.int8)}
    for given, count in ((shared, 1), (own, channels)):
        params = pack(KernelCall.of(_GENERAL, given)).params_as(FullyConnectedRiceParams)
        assert (len(params.multiplier), len(params.shift), params.scale_step) == (count, count, int(count > 1))


@pytest.mark.parametrize("vectors", [1, 3])
def test_declared_distance_is_that_of_single_channels(vectors: int) -> None:
    """A vector is read until its last channel is written; a call that never overlaps stays so."""
    channels, depth = 7, 10
    values: Values = {
        "filter": np.ones(channels * depth, np.int8), "bias": np.zeros(channels, np.int32),
        "multiplier": np.full(channels, 1 << 30, np.int32), "shift": np.full(channels, -6, np.int8), "depth": depth,
        "piece": depth, "pieces": 1, "vectors": vectors, "vectors_per_row": vectors, "output_channels": channels,
        "output_zero_point": 0, "activation_min": -128, "activation_max": 127,
    }  # fmt: skip
    call = KernelCall.of(_GENERAL, values)
    wanted = least_distance((vector * depth, vector * channels + channels - 1) for vector in range(vectors))
    assert pack(replace(call, inplace_distance_bytes=(0,))).inplace_distance_bytes == (wanted,)
    assert pack(replace(call, inplace_distance_bytes=(None,))).inplace_distance_bytes == (None,)


def test_instructions_for_each_weight_stay_few(tmp_path: Path) -> None:
    """A long row costs twelve instructions for each weight on cores with the DSP extension, whatever the weights are."""
    depth, channels = 512, 2
    values: Values = {
        **_drawn(np.random.default_rng(0))[0], "bias": np.zeros(channels, np.int32),
        "multiplier": np.full(channels, 1 << 30, np.int32), "shift": np.full(channels, -6, np.int8), "depth": depth,
        "piece": depth, "pieces": 1, "vectors": 1, "vectors_per_row": 1, "output_channels": channels,
    }  # fmt: skip
    coded = KernelOnCore(_KERNEL, ARMV7EM, tmp_path)
    counts = set()
    for width in (1, 10, 60):
        drawn = np.random.default_rng(0).normal(0, width, channels * depth)
        own = values | {"filter": np.clip(np.round(drawn), -128, 127).astype(np.int8)}
        coded.run(Case(_packed(own), [[0]], [np.zeros(depth, np.int8)], channels))
        counts.add(coded.instructions)
    assert max(counts) <= 12 * channels * depth + 4 * depth + 160 * channels
