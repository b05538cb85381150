"""The kernels for this machine, by each set of its instructions: any shape at any address, in place, and nothing beside."""

import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array
from kibi.ir import Graph, KernelCall, NodeView
from kibi.kernels import closure, kernel_folder
from kibi.kernels.params import Params
from kibi.kernels.params.conv2d import Conv2DF32Params
from kibi.kernels.params.fully_connected import FullyConnectedF32Params
from kibi.quant import requantize
from kibi.selection.add_linear import ADD_LINEAR
from kibi.selection.host_lanes import HOST_LANES
from kibi.targets import target
from kibi.toolchain import compile_objects, compilers
from kibi.toolchain.compilers import zig_command
from tests.kernels.in_processes import EmulatedKernels, LoadedKernels
from tests.kernels.in_programs import ProgramKernels
from tests.kernels.overlaps import Probe, probes_of
from tests.ops.comparison import assert_same, graph_of
from tests.ops.convolutions import GEOMETRIES, Geometry, convolution, convolution_f32
from tests.programs.tools import requires
from tests.quant.boundaries import TRIPLES
from tests.support.amount import sample
from tests.support.operator_models import Case, f32_case, s8_case
from tests.toolchain.tools import check_gcc

_HOST = target("host")
_SETS = _HOST.kernel_sets
_COMPILERS = [
    ("zig", "0", ()),
    ("gcc", "2", ()),
    *(("zig", "2", ("-target", f"{name}-linux-musl", "-mcpu=baseline")) for name in ("x86_64", "aarch64", "riscv64")),
    ("zig", "2", ("-target", "arm-linux-musleabihf", "-mcpu=cortex_a7")),
    *(("gcc", "2", (f"-march={name}",)) for name in ("x86-64-v3", "alderlake", "icelake-server")),
    ("zig", "s", ()),
]
_SOURCES = tuple(sorted(kernel_folder("host").glob("*.c")))
_VARIANTS = (*HOST_LANES, *(variant for variant in ADD_LINEAR if variant.kernel_set == "host"))
_KERNELS = frozenset(variant.kernel for variant in _VARIANTS)
_LESS = tuple(f"-U__{name}__" for name in ("AVX512VNNI", "AVXVNNI", "AVX2", "SSE2", "ARM_NEON"))
_INSTRUCTIONS = {"all": (), "without VNNI": _LESS[:2], "without AVX": _LESS[:3], "none": _LESS}
"""What the kernels may use of the machine's vectors."""
_NEON = {"plain": ("", "cortex-a53"), "dot": ("+dotprod", "cortex-a76"), "mixed": ("+dotprod+i8mm", "max")}
"""Features of aarch64 for which the kernels have ways of their own, and a processor that qemu knows with them."""
_ARM = (zig_command(), "cc", "-target", "aarch64-linux-musl")
_CALLS = Path(__file__).parent / "host_calls.c"
_LINEAR = "kibi_add_s8_linear"
_DRAWN = 30
_GUARD = 0x5A
_WIDER = tuple(
    Geometry(channels, outputs, kernel=kernel, stride=stride, size=size, padding=padding)
    for channels, outputs, kernel, stride, size, padding in (
        (64, 70, (1, 1), 1, (1, 9), "SAME"), (61, 33, (1, 1), 1, (1, 3), "VALID"), (3, 8, (3, 3), 2, (4, 13), "SAME"),
        (16, 48, (3, 3), 1, (3, 11), "SAME"), (7, 65, (2, 5), 1, (2, 6), "SAME"), (1, 16, (4, 10), 2, (6, 15), "SAME"),
        (1, 20, (3, 3), 1, (3, 6), "SAME"), (1, 20, (3, 3), 1, (3, 7), "VALID"), (64, 3, (3, 3), 1, (2, 200), "SAME"),
        (5, 16, (2, 3), 1, (2, 47), "SAME"),
    )
)  # fmt: skip
_COLUMNS = tuple(
    Geometry(4, 70, kernel=(1, 1), stride=stride, size=(2, width), padding=padding)
    for stride, width, padding in ((1, 19, "SAME"), (2, 25, "VALID"))
)
"""Float layers whose windows are read where they are, with more channels than are computed at once."""
_QUIET = (Geometry(4, 70, kernel=(1, 1), size=(2, 5)), Geometry(3, 49, kernel=(3, 3), size=(4, 6), padding="SAME"))
"""Float layers with several blocks of channels."""
_ONE_BLOCK = tuple(Geometry(5, channels, kernel=(2, 3), size=(2, 47), padding="SAME") for channels in (16, 7))
"""Float layers with more pixels than are computed at once."""
_DEPTHWISE = tuple(
    Geometry(channels, channels, kernel=kernel, stride=stride, groups=0, size=(4, width))
    for channels, kernel, stride, width in (
        (8, (3, 3), 1, 7),
        (2, (5, 3), 1, 27),
        (16, (3, 3), 2, 9),
        (37, (2, 4), 1, 5),
        (64, (3, 3), 1, 3),
        (64, (3, 3), 1, 140),
        (840, (5, 5), 1, 3),
    )
)


@pytest.fixture(scope="module", params=_INSTRUCTIONS)
def kernels(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LoadedKernels:
    """All kernels of the set, for some of the machine's instructions."""
    folder = tmp_path_factory.mktemp(request.param)
    texts = closure(_KERNELS, _SETS)
    for name, text in texts.items():
        (folder / name).write_text(text.text, encoding="utf-8")
    sources = [folder / name for name in texts if name.endswith(".c")]
    objects = compile_objects(sources, _HOST, includes=[folder], flags=_INSTRUCTIONS[request.param])
    path = folder / "kernels.so"
    subprocess.run([zig_command(), "ld.lld", "-shared", *map(str, objects), "-o", str(path)], check=True)
    return LoadedKernels(path)


@pytest.fixture(params=_NEON)
def neon(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EmulatedKernels]:
    """All kernels of the set for a processor of aarch64."""
    if shutil.which("qemu-aarch64") is None:
        pytest.skip("qemu-aarch64 is not on PATH: it comes with qemu-user")
    features, cpu = _NEON[request.param]
    texts = closure(_KERNELS, _SETS)
    for name, text in texts.items():
        (tmp_path / name).write_text(text.text, encoding="utf-8")
    objects = []
    # Only the kernels know the processor: zig makes its C library for each one anew, in minutes.
    for name in (each for each in texts if each.endswith(".c")):
        objects.append(str(tmp_path / f"{name}.o"))
        flags = (f"-mcpu=baseline{features}", "-O2", "-ffp-contract=off")
        subprocess.run([*_ARM, *flags, "-c", str(tmp_path / name), "-o", objects[-1]], check=True)
    program = tmp_path / "kernels"
    subprocess.run([*_ARM, "-static", *objects, str(_CALLS), "-o", str(program)], check=True)
    made = EmulatedKernels(program, sorted(_KERNELS), cpu)
    yield made
    made.close()


@pytest.fixture(params=["armv7-linux", "wasm32-simd128"])
def program(request: pytest.FixtureRequest, tmp_path: Path) -> ProgramKernels:
    """All kernels of the set for processors whose vectors no other machine of the tests has."""
    requires(request.param)
    return ProgramKernels(request.param, _KERNELS, tmp_path)


def _packed(general: KernelCall) -> KernelCall | None:
    packs = (variant.pack(general) for variant in reversed(_VARIANTS) if variant.of == general.kernel)
    return next((call for call in packs if call is not None), None)


def _run(
    kernels: LoadedKernels | EmulatedKernels | ProgramKernels,
    view: NodeView,
    call: KernelCall,
    inputs: Mapping[int, Array],
) -> Array:
    """The whole output of a node from the tensors that it is given, step by step, each row where memory ends behind it."""
    kind = view.output.type
    operands = []
    for tensor, access in zip(view.row_tensors, view.op.accesses(view), strict=True):
        array = inputs[tensor.index] if tensor.data is None else tensor.data
        parts = np.ascontiguousarray(array).reshape(-1, tensor.type.row_elements // access.parts)
        fill = 0 if access.fill is None else kernels.place(np.full(tensor.type.row_elements, access.fill, np.int8))
        operands.append((access, [kernels.place(part) for part in parts], fill))
    made = kind.size_bytes // view.steps
    whole = []
    for step in range(view.steps):
        rows = [
            fill if at is None else places[at] for access, places, fill in operands for at in access.positions(step)
        ]
        guard = kind.dtype.size_bytes
        output = np.full(made + 2 * guard, _GUARD, np.int8)
        kernels.call(call, output.ctypes.data + guard, rows, made)
        assert (output[:guard] == _GUARD).all()
        assert (output[-guard:] == _GUARD).all()
        whole.append(output[guard:-guard])
    return np.concatenate(whole).view(kind.dtype.numpy).reshape(kind.shape)


@cache
def _nodes() -> tuple[tuple[Graph, Sequence[Array], list[Array]], ...]:
    """Nodes for the kernels as graphs, with inputs and outputs."""
    layers = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
    drawn = (
        case(name, seed)
        for case, names in ((s8_case, ("ADD", *layers)), (f32_case, ("ADD", *layers)))
        for name in names
        for seed in range(_DRAWN)
    )
    chosen = (convolution(geometry, seed) for seed, geometry in enumerate((*GEOMETRIES, *_WIDER, *_DEPTHWISE)))
    floats = (convolution_f32(geometry, 2) for geometry in (*_COLUMNS, *_ONE_BLOCK))
    quiet = (
        convolution_f32(geometry, 2, activation, quiet)
        for geometry in _QUIET
        for activation in ("NONE", "RELU6")
        for quiet in (1e-30, 1e-13)  # inputs are small for the first, and too large for the second
    )
    graphs = [(graph_of(case), case.inputs) for case in (*drawn, *chosen, *floats, *quiet)]
    return tuple((graph, inputs, kibi.run(graph, None, inputs)) for graph, inputs in graphs)


@pytest.mark.share(2, part=0)
def test_any_node_at_the_end_of_memory_equals_the_reference(kernels: LoadedKernels) -> None:
    """Shapes, paddings, scales and values of every kind give the same bits; no byte outside is read or written."""
    _check_nodes(kernels)


@pytest.mark.slow
def test_any_node_on_arm_equals_the_reference(neon: EmulatedKernels) -> None:
    """The same with NEON, with and without products of bytes; and all boundaries of scales."""
    _check_nodes(neon)
    for zero_point, low, high in _RANGES:
        _check_boundaries(neon, zero_point, low, high)


@pytest.mark.share(2, part=1)
def test_any_node_in_a_program_equals_the_reference(program: ProgramKernels) -> None:
    """The same with NEON of 32-bit Arm, and with SIMD128 of WebAssembly."""
    _check_nodes(program)
    for zero_point, low, high in _RANGES:
        _check_boundaries(program, zero_point, low, high)


def test_subnormal_floats_are_computed_in_a_program(program: ProgramKernels) -> None:
    """Vectors of 32-bit Arm would take them for zeros."""
    case = next(each for each in (f32_case("FULLY_CONNECTED", seed) for seed in range(_DRAWN)) if _fits(each))
    (view,) = graph_of(case).views
    general = view.op.kernel_call(view)
    layer = general.params_as(FullyConnectedF32Params)
    least = np.float32(2**-130)
    weights = np.full_like(layer.filter, 0.5)
    call = _packed(replace(general, params=layer.replaced(
        filter=weights, bias=np.zeros_like(layer.bias), activation_min=-1.0, activation_max=1.0, vectors=1, vectors_per_row=1,
    )))  # fmt: skip
    assert call is not None
    rows = [program.place(np.full(layer.piece, least, np.float32)) for _ in range(layer.pieces)]
    found = np.zeros(layer.output_channels, np.float32)
    program.call(call, found.ctypes.data, rows, found.nbytes)
    np.testing.assert_array_equal(found, np.full_like(found, least * np.float32(0.5) * layer.piece * layer.pieces))


def _check_nodes(kernels: LoadedKernels | EmulatedKernels | ProgramKernels) -> None:
    fitted: dict[str, int] = {}
    for graph, inputs, expected in _nodes():
        (view,) = graph.views
        call = _packed(view.op.kernel_call(view))
        if call is not None:
            fitted[call.kernel] = fitted.get(call.kernel, 0) + 1
            given = dict(zip(graph.inputs, inputs, strict=True))
            assert_same(graph, [_run(kernels, view, call, given)], expected)
    assert set(fitted) == _KERNELS
    assert min(count for kernel, count in fitted.items() if kernel != _LINEAR) >= _DRAWN // 5


def test_output_over_its_input_at_the_general_distance_is_right(kernels: LoadedKernels) -> None:
    """Plans are made for the general kernels: as far below a dying row as those need, and farther, these are right, too."""
    rng, probed = np.random.default_rng(0), 0
    for graph, _, _ in _nodes():
        for probe in probes_of(graph.views[0], rng):
            call = _packed(probe.call)
            if call is not None:
                distances = sorted({probe.declared, min(probe.declared + 1, probe.output_bytes), probe.output_bytes})
                apart, *over = (_over(kernels, replace(probe, call=call), distance) for distance in (None, *distances))
                assert all((found == apart).all() for found in over), probe
                probed += 1
    assert probed > 3 * _DRAWN


def _over(kernels: LoadedKernels, probe: Probe, distance: int | None) -> Array:
    """The output of a step that begins that many bytes below the probed row; None: elsewhere."""
    data = np.frombuffer(probe.data, np.int8)[: probe.row_count * probe.row_bytes].reshape(probe.row_count, -1)
    # The probed row has room below it for the output, and the others lie above it.
    room = np.zeros(3 * probe.output_bytes + probe.row_bytes, np.int8)
    below = 0 if distance is None else distance
    start = room.ctypes.data + 2 * probe.output_bytes
    output = room.ctypes.data if distance is None else start - below
    room[2 * probe.output_bytes :][: probe.row_bytes] = data[probe.over]
    fill = np.full(probe.row_bytes, probe.fill, np.int8)
    others = data.copy()
    bases = [start if row == probe.over else others[row].ctypes.data for row in range(probe.row_count)]
    rows = [fill.ctypes.data if row < 0 else bases[row] + at for row, at in probe.pointers]
    kernels.call(probe.call, output, rows)
    first = output - room.ctypes.data
    return room[first : first + probe.output_bytes].copy()


_RANGES = [(0, -128, 127), (127, -128, 127), (5, -7, 90)]


@pytest.mark.share(5, part=0)
@pytest.mark.parametrize(("zero_point", "low", "high"), _RANGES)
def test_every_boundary_of_accumulator_multiplier_and_shift(
    kernels: LoadedKernels, zero_point: int, low: int, high: int
) -> None:
    """A channel for each: sums of nothing but the bias are rounded, moved and cut as Python does."""
    _check_boundaries(kernels, zero_point, low, high)


def _check_boundaries(
    kernels: LoadedKernels | EmulatedKernels | ProgramKernels, zero_point: int, low: int, high: int
) -> None:
    acc, multiplier, shift = np.array(TRIPLES, np.int32).T
    _check_sums(kernels, (acc, multiplier, shift), (zero_point, low, high))


def _check_sums(
    kernels: LoadedKernels | EmulatedKernels | ProgramKernels,
    sums: tuple[Array, Array, Array],
    outputs: tuple[int, int, int],
    weights: Sequence[int] = (0,),
) -> Params:
    """Computes a channel for each accumulator, multiplier and shift, in the range of zero point, least and greatest output.

    Weights are those of each channel; the input is zeros.

    Returns:
        The parameters of the kernel.
    """
    acc, multiplier, shift = sums
    zero_point, low, high = outputs
    channels = len(acc)
    values: dict[str, int | Array] = {
        "filter": np.tile(np.array(weights, np.int8), channels), "bias": acc.copy(), "multiplier": multiplier.copy(),
        "shift": shift.astype(np.int8), "padding": np.zeros(1, np.int8), "input_width": 5, "input_channels": len(weights),
        "output_width": 5, "output_channels": channels, "output_zero_point": zero_point, "activation_min": low,
        "activation_max": high, "groups": 1, "uses_im2col": 0, "kernel_rows": 1, "kernel_width": 1, "stride": 1,
        "dilation": 1, "pad": 0,
    }  # fmt: skip
    call = _packed(KernelCall.of("kibi_conv2d_s8", values))
    assert call is not None
    found = np.zeros((5, channels), np.int8)
    kernels.call(call, found.ctypes.data, [kernels.place(np.zeros(5 * len(weights), np.int8))], found.nbytes)
    moved = (requantize(acc, multiplier, shift).astype(np.int64) + zero_point + (1 << 31)) % (1 << 32) - (1 << 31)
    np.testing.assert_array_equal(found, np.tile(np.clip(moved, low, high).astype(np.int8), (5, 1)))
    return call.params_as(Params)


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize(("zero_point", "low", "high"), _RANGES)
def test_sums_about_each_output_that_are_scaled_once(
    kernels: LoadedKernels, zero_point: int, low: int, high: int
) -> None:
    """Blocks of channels with sums on both sides of each output's edge, and far from all of them, of layers with longer sums."""
    rng = np.random.default_rng(5)
    multiplier, right = rng.integers(1 << 30, 1 << 31, 16), rng.integers(0, 13, 16)
    scale = np.ldexp(multiplier.astype(np.float64), -31 - right)
    edges = ((np.arange(-260, 260) + rng.choice([0, 0.5], 520))[:, None] / scale).astype(np.int64)
    acc = (edges[:, :, None] + np.arange(-1, 3)).reshape(520, -1)
    far = np.clip(acc.astype(np.float64) * 1000, -(1 << 28), 1 << 28).astype(np.int64)
    acc = np.concatenate([acc, far[::20]]).astype(np.int32)
    multipliers, shifts = (np.tile(np.repeat(each, 4).astype(np.int32), len(acc)) for each in (multiplier, -right))
    params = _check_sums(kernels, (acc.reshape(-1), multipliers, shifts), (zero_point, low, high), [127] * 64)
    assert np.count_nonzero(params.by_name["half"]) > acc.size // 2


def test_sums_of_the_largest_products_wrap(kernels: LoadedKernels) -> None:
    """The longest window of -128 times -128, on a bias near the end of 32 bits, goes on at the other end."""
    depth, channels = 32768, 3
    bias = np.full(channels, (1 << 31) - 1, np.int32)
    multiplier, shift = np.full(channels, 1 << 30, np.int32), np.full(channels, -20, np.int8)
    values: dict[str, int | Array] = {
        "filter": np.full(channels * depth, -128, np.int8), "bias": bias, "multiplier": multiplier, "shift": shift,
        "depth": depth, "piece": depth, "pieces": 1, "vectors": 1, "vectors_per_row": 1, "output_channels": channels,
        "output_zero_point": 0, "activation_min": -128, "activation_max": 127,
    }  # fmt: skip
    general = KernelCall.of("kibi_fully_connected_s8", values)
    call, found = _packed(general), np.zeros(channels, np.int8)
    assert call is not None
    kernels.call(call, found.ctypes.data, [kernels.place(np.full(depth, -128, np.int8))])
    wrapped = (bias.astype(np.int64) + depth * 128 * 128 + (1 << 31)) % (1 << 32) - (1 << 31)
    expected = np.clip(requantize(wrapped, multiplier, shift.astype(np.int32)), -128, 127)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("factors", [(1 << 27, 3 << 20, 5), (-(1 << 28) - 77, 123456789, -(1 << 20)), (255, -256, 0)])
def test_sums_rounded_once_of_all_pairs(kernels: LoadedKernels, factors: tuple[int, int, int]) -> None:
    """Of each pair of bytes; and of fewer elements than a block has, over the second input."""
    first, second = (each.astype(np.int8).reshape(-1) for each in np.mgrid[-128:128, -128:128])
    terms = (each.astype(np.int64) * factor >> 8 for each, factor in zip((first, second), factors, strict=False))
    expected = np.clip((sum(terms) + factors[2]) >> 20, -128, 127).astype(np.int8)
    for count in (len(first), 65, 1):
        values = {"factor1": factors[0], "factor2": factors[1], "start": factors[2], "elements": count}
        found = second.copy()
        rows = [kernels.place(first[:count]), found.ctypes.data]
        kernels.call(KernelCall.of(_LINEAR, values), found.ctypes.data, rows)
        np.testing.assert_array_equal(found[:count], expected[:count])
        np.testing.assert_array_equal(found[count:], second[count:])


@pytest.mark.parametrize(("low", "high"), [(-np.inf, np.inf), (0.0, 6.0)])
def test_float_sums_of_unusual_numbers(kernels: LoadedKernels, low: float, high: float) -> None:
    """NaN, infinities, zeros of both signs and subnormal numbers, over the second input."""
    numbers = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 2**-140, -(2**-149), 3e38, -3e38, 5.9999995], np.float32)
    first, second = (each.reshape(-1) for each in np.meshgrid(numbers, numbers))
    with np.errstate(over="ignore", invalid="ignore"):
        sums = first + second
    raised = np.where(sums < low, np.float32(low), sums)
    expected = np.where(raised > high, np.float32(high), raised)
    for count in (len(first), 33, 1):
        values = {"elements": count, "activation_min": low, "activation_max": high}
        found = second.copy()
        rows = [kernels.place(first[:count]), found.ctypes.data]
        kernels.call(KernelCall.of("kibi_add_f32_lanes", values), found.ctypes.data, rows)
        signs, wanted = (
            np.copysign(1, np.where(np.isnan(made), 1, made)) for made in (found[:count], expected[:count])
        )
        np.testing.assert_array_equal(found[:count], expected[:count])
        np.testing.assert_array_equal(signs, wanted)
        np.testing.assert_array_equal(found[count:], second[count:])


def test_infinite_weights_stay_with_the_general_kernel() -> None:
    """Outside the input, the kernels of floats add zeros times weights."""
    case = next(each for each in (f32_case("CONV_2D", seed) for seed in range(_DRAWN)) if _fits(each))
    (view,) = graph_of(case).views
    general = view.op.kernel_call(view)
    layer = general.params_as(Conv2DF32Params)
    weights = layer.filter.copy()
    weights[-1] = np.inf
    assert _packed(replace(general, params=layer.replaced(filter=weights))) is None


def _fits(case: Case) -> bool:
    (view,) = graph_of(case).views
    return _packed(view.op.kernel_call(view)) is not None


def test_longer_windows_and_groups_stay_with_the_general_kernel() -> None:
    """What the kernels have no room for, or no way to compute, they leave."""
    large = Geometry(1, 1, kernel=(2, 513), groups=0, size=(2, 600), padding="VALID")
    for geometry in (Geometry(3641, 1, size=(3, 3)), Geometry(6, 9, groups=3), large):
        (view,) = graph_of(convolution(geometry)).views
        assert _packed(view.op.kernel_call(view)) is None


@pytest.mark.parametrize(
    ("compiler", "level", "flags", "language"),
    sample(
        [(*each, language) for language in ("c99", "c++17") for each in _COMPILERS],
        [(*_COMPILERS[1], "c++17")],
    ),
)
def test_sources_give_no_warning(
    compiler: str, level: str, flags: Sequence[str], language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file of the set is clean, on each processor that it has a way for and on one that it has none for."""
    monkeypatch.setattr(compilers, "_has_glibc_headers", lambda: False)  # they are those of this machine
    if compiler == "gcc":
        check_gcc()
    for name in ("portable", "host"):
        for path in kernel_folder(name).glob("*.h"):
            shutil.copy(path, tmp_path)
    sources = [Path(shutil.copy(path, tmp_path)) for path in _SOURCES]
    compile_objects(sources, _HOST, compiler=compiler, level=level, includes=[tmp_path], language=language, flags=flags)
