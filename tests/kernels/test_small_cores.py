"""Armv7-M, Armv6-M, RISC-V: kernels with loops of their own give the reference's bits on emulated cores, and touch nothing else."""

from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.ir import Graph, KernelCall
from kibi.kernels import closure, kernel_folder, text_of
from kibi.quant import requantize
from kibi.toolchain import compile_objects
from tests.kernels.convolutions.test_armv7em_depthwise import depthwise
from tests.kernels.emulated import Bench, Kernels, linked, run
from tests.kernels.in_place import check_in_place
from tests.kernels.on_core import PORTABLE, KernelOnCore
from tests.ops.comparison import assert_same, graph_of
from tests.ops.convolutions import GEOMETRIES, Geometry, convolution
from tests.quant.boundaries import TRIPLES
from tests.support.amount import IS_EXHAUSTIVE, amount, sample
from tests.support.operator_models import Case, s8_case
from tests.toolchain.tools import check_cross

_SETS = {"cortex-m3": "armv7m", "cortex-m0plus": "armv6m", "rv32imac": "riscv"}
_COMPILED = tuple(
    (target, compiler) for target in _SETS for compiler in ("zig", "gcc") if (target, compiler) != ("rv32imac", "gcc")
)
_BUILDS = tuple((target, compiler, "s" if compiler == "zig" else "2") for target, compiler in _COMPILED)
_BY_ZIG = tuple(build for build in _BUILDS if build[1] == "zig")
_KERNELS = (
    "kibi_add_s8", "kibi_conv2d_s8", "kibi_conv2d_s8_int4", "kibi_depthwise_conv2d_s8", "kibi_fully_connected_s8",
    "kibi_fully_connected_s8_accumulate", "kibi_fully_connected_s8_int4", "kibi_fully_connected_s8_int4_accumulate", "kibi_mul_s8",
)  # fmt: skip
_PACKED = ("kibi_conv2d_s8_halves", "kibi_depthwise_conv2d_s8_3x3_relu", "kibi_fully_connected_s8_halves")
"""Kernels of variants, which other tests are for."""
_DRAWN = amount(8, 20)
_OVERLAID = 8
_ROWS = 40
_WIDER = (
    *(Geometry(depth, 6, kernel=(1, 1), stride=1, size=(1, 5)) for depth in range(1, 10)),
    *(
        Geometry(channels, outputs, kernel=kernel, stride=stride, size=size)
        for channels, outputs, kernel, stride, size in (
            (64, 6, (1, 1), 1, (1, 5)), (61, 7, (1, 1), 1, (1, 2)), (19, 4, (1, 1), 2, (2, 7)),
            (16, 5, (3, 3), 1, (3, 6)), (7, 2, (3, 3), 1, (2, 8)), (3, 17, (3, 3), 2, (4, 9)),
            (40, 3, (2, 3), 1, (2, 5)),
        )
    ),
)  # fmt: skip
"""Runs of every length modulo four, and rests of pixels and channels."""


@pytest.fixture(params=_BUILDS if IS_EXHAUSTIVE else _BY_ZIG, ids=" ".join)
def kernels(request: pytest.FixtureRequest) -> Kernels:
    """What sums products or scales them, for a core by a compiler."""
    target, compiler, level = request.param
    if compiler == "gcc":
        check_cross()
    return linked(_KERNELS, target, compiler, level)


def _check(kernels: Kernels, graph: Graph, case: Case, seed: int) -> None:
    (view,) = graph.views
    by_tensor = dict(zip(graph.inputs, case.inputs, strict=True))
    inputs = [by_tensor[tensor.index] for tensor in view.row_tensors]
    found = run(kernels, view, inputs, np.random.default_rng(seed))
    assert_same(graph, [found], kibi.run(graph, None, case.inputs))


@pytest.mark.share(2, part=1)
@pytest.mark.parametrize("operator", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "ADD", "MUL"])
def test_drawn_models_at_any_address_equal_the_reference(kernels: Kernels, operator: str) -> None:
    """Shapes, paddings, scales and values of every kind give the same bits, and no byte outside is touched."""
    for seed in range(_DRAWN):
        case = s8_case(operator, seed)
        graph = graph_of(case)
        if {tensor.index for tensor in graph.views[0].row_tensors} <= {*graph.inputs}:
            _check(kernels, graph, case, seed)


def test_convolutions_of_every_way_equal_the_reference(kernels: Kernels) -> None:
    """Gathered or not, grouped, dilated, with runs of many lengths and odd numbers of pixels and channels."""
    for seed, geometry in enumerate((*GEOMETRIES, *_WIDER)):
        case = convolution(geometry, seed)
        _check(kernels, graph_of(case), case, seed)


@pytest.mark.parametrize(("target", "compiler", "level"), _BUILDS)
def test_depthwise_rows_of_any_window_equal_the_portable_ones(
    target: str, compiler: str, level: str, tmp_path: Path
) -> None:
    """Windows of one tap or of hundreds, at the very ends of their memory, give the bytes that plain C gives."""
    name = "kibi_depthwise_conv2d_s8"
    own = KernelOnCore(name, (_SETS[target], *PORTABLE), tmp_path / "own", name=target, compiler=compiler, level=level)
    plain = KernelOnCore(name, PORTABLE, tmp_path / "plain", name=target)
    rng = np.random.default_rng(1)
    for _ in range(_ROWS):
        case = depthwise(rng)
        assert own.run(case) == plain.run(case)


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize(
    ("zero_point", "low", "high"), [(0, -128, 127), (-128, -128, 127), (127, -128, 127), (5, -7, 90), (3, 60, 20)]
)
def test_every_boundary_of_accumulator_multiplier_and_shift(
    kernels: Kernels, zero_point: int, low: int, high: int
) -> None:
    """A channel for each: sums of nothing but the bias are rounded, moved and cut as Python does."""
    acc, multiplier, shift = np.array(TRIPLES, np.int32).T
    channels = len(acc)
    values: dict[str, object] = {
        "filter": np.zeros(channels, np.int8), "bias": acc.copy(), "multiplier": multiplier.copy(),
        "shift": shift.astype(np.int8), "input_width": 1, "channels": channels, "input_zero_point": 0,
        "output_width": 1, "output_zero_point": zero_point, "activation_min": low, "activation_max": high,
        "kernel_rows": 1, "kernel_width": 1, "stride": 1, "dilation": 1, "pad": 0,
    }  # fmt: skip
    call = KernelCall.of("kibi_depthwise_conv2d_s8", values)
    bench = Bench(kernels, np.random.default_rng(0))
    output = bench.place("output", np.zeros(channels, np.int8), writable=True)
    rows = bench.rows([bench.place("input", np.ones(channels, np.int8))])
    bench.call(call.kernel, output, rows, bench.params(call), 0)
    moved = (requantize(acc, multiplier, shift).astype(np.int64) + zero_point + (1 << 31)) % (1 << 32) - (1 << 31)
    expected = np.minimum(np.maximum(moved, low), high).astype(np.int8)
    np.testing.assert_array_equal(bench.read(output, channels), expected)


@pytest.mark.parametrize("target", _SETS)
@pytest.mark.parametrize(
    ("operator", "kernel"),
    [("CONV_2D", "kibi_conv2d_s8"), ("DEPTHWISE_CONV_2D", "kibi_depthwise_conv2d_s8")],
)
def test_rows_may_be_overwritten_from_the_declared_distance_on(target: str, operator: str, kernel: str) -> None:
    """At the declared distance, and at larger ones, no element is overwritten that is still to be read."""
    kernels = linked(_KERNELS, target, "zig", "s")
    cases = [s8_case(operator, seed) for seed in range(_OVERLAID)]
    if operator == "CONV_2D":
        cases += [convolution(each) for each in GEOMETRIES]
    else:
        cases += [convolution(Geometry(6, 6, stride=each, groups=0)) for each in (1, 2)]
    assert check_in_place(kernels, kernel, cases) > len(cases)


@pytest.mark.parametrize("target", _SETS)
def test_every_file_is_used(target: str) -> None:
    """All files of a set stand for a portable one or are included by one that does."""
    used = closure(frozenset({*_KERNELS, *_PACKED, "kibi_softmax_s8"}), (_SETS[target], *PORTABLE))
    assert {path.name for path in kernel_folder(_SETS[target]).iterdir()} <= set(used)


@pytest.mark.parametrize(
    ("target", "compiler", "level", "language"),
    sample(
        (name, compiler, level, language)
        for level, language in (("0", "c99"), ("s", "c++17"))
        for name, compiler in (*_COMPILED, ("host", "zig"), ("host", "gcc"))
    ),
)
def test_sources_give_no_warning(target: str, compiler: str, level: str, language: str, tmp_path: Path) -> None:
    """Each file of the sets is clean on its core and, beside its portable twin, on any other machine."""
    if compiler == "gcc" and target != "host":
        check_cross()
    for kernel_set in _SETS.values() if target == "host" else (_SETS[target],):
        folder = tmp_path / kernel_set
        folder.mkdir()
        for path in (*kernel_folder("portable").glob("*.h"), *kernel_folder(kernel_set).iterdir()):
            text = text_of(path.name, (kernel_set, *PORTABLE)).text
            (folder / path.name).write_text(text, encoding="utf-8")
        sources = sorted(folder.glob("*.c"))
        assert sources
        compile_objects(
            sources, kibi.target(target), compiler=compiler, level=level, includes=[folder], language=language
        )
