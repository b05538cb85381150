"""Kernel calls as probes of `overlap_check.c`: one for each input row that a step reads for the last time."""

import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView
from kibi.kernels import closure, header_of
from kibi.kernels.params import Params, struct_name
from kibi.text.c import literal
from kibi.toolchain import build_program
from tests.support.kernel_files import portable_folder
from tests.toolchain.unity import unity_files

_TRIALS = 12
_HARNESS = Path(__file__).with_name("overlap_check.c")
_IN_A_FILE = 100
"""Probes: compilers take longer than in proportion for long files."""
_PLAIN: dict[str, int] = {
    "activation_min": -128, "activation_max": 127, "output_zero_point": 0, "zero_point": 0, "zero_point1": 0,
    "zero_point2": 0, "shift1": 0, "shift2": 0, "multiplier1": 1 << 30, "multiplier2": 1 << 30,
    "output_multiplier": 1 << 30, "alpha": 1,
}  # fmt: skip
"""Values under which an output shows each change of an input; geometry stays as it was drawn."""
_OUTPUT_SHIFTS = {
    "kibi_add_s8": -18, "kibi_add_s16": -14, "kibi_sub_s8": -18, "kibi_sub_s16": -14, "kibi_mul_s8": -6, "kibi_mul_s16": -15,
    "kibi_squared_difference_s8": -19, "kibi_squared_difference_s16": -15, "kibi_div_s8": 5,
}  # fmt: skip
_WIDE = {"activation_min": -1e30, "activation_max": 1e30}
"""The same of floats."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A call at one step, and the input row that an output is laid over.

    Attributes:
        call: the kernel's, with values that make changes visible.
        step: the number of the step.
        operand: which of the row inputs.
        declared: its distance in bytes.
        output_bytes: that a step writes.
        row_bytes, row_count: rows that the step reads, of the operand that is probed and of all.
        pointers: for each, the row and the byte in it; -1 for none, -2 for the constant row.
        over: the row.
        fill: the constant row's element.
        data: what the rows hold in each trial, `[trials, rows, bytes]`.
        types: of the input and the output.
        state_bytes: of each state; they begin as zeros.
        others: where the kernel takes a table of outputs, the bytes of those before and of those after the one that is laid over
            the row; they are elsewhere.
    """

    call: KernelCall
    step: int
    operand: int
    declared: int
    output_bytes: int
    row_bytes: int
    row_count: int
    pointers: tuple[tuple[int, int], ...]
    over: int
    fill: int
    data: bytes
    types: tuple[DType, DType]
    state_bytes: tuple[int, ...] = ()
    others: tuple[tuple[int, ...], tuple[int, ...]] | None = None

    @property
    def unit(self) -> int:
        """Bytes that a distance is a multiple of: alignment."""
        return max(dtype.size_bytes for dtype in self.types)


def probes_of(view: NodeView, rng: np.random.Generator) -> Iterator[Probe]:
    """The probes of a node: at its first, middle and last step, every row that no later step reads."""
    call = _plain(view.op.kernel_call(view), rng)
    steps = [view.steps - 1] if call.takes_step else sorted({0, view.steps // 2, view.steps - 1})
    accesses = view.op.accesses(view)
    for step in steps:
        places: list[tuple[int, int]] = []
        owners: dict[tuple[int, int], int] = {}
        for operand, (tensor, access) in enumerate(zip(view.row_tensors, accesses, strict=True)):
            part_bytes = tensor.type.row_bytes // access.parts
            for position in access.positions(step):
                if position is None:
                    places.append((-1 if access.fill is None else -2, 0))
                    continue
                key = (operand, position // access.parts)
                number = owners.setdefault(key, len(owners))
                places.append((number, position % access.parts * part_bytes))
        for (operand, row), number in owners.items():
            distance = call.inplace_distance_bytes[operand] if call.inplace_distance_bytes else None
            later = (row in accesses[operand].needs(other) for other in range(step + 1, view.steps))
            if distance is None or any(later):
                continue
            widest = max(tensor.type.row_bytes for tensor in view.row_tensors)
            kind = view.row_tensors[operand].type.dtype
            sizes = tuple(
                len(view.made_rows(view.steps - 1, k)) * each.type.row_bytes for k, each in enumerate(view.outputs)
            )
            for k, output in enumerate(view.outputs):
                yield Probe(
                    call, step, operand, min(distance, sizes[k]), sizes[k], widest, len(owners), tuple(places), number,
                    accesses[operand].fill or 0, _contents(kind, len(owners) * widest, rng), (kind, output.type.dtype),
                    tuple(view[name].type.size_bytes for name in view.op.states),
                    (sizes[:k], sizes[k + 1 :]) if view.op.has_several_outputs else None,
                )  # fmt: skip


def _plain(call: KernelCall, rng: np.random.Generator) -> KernelCall:
    def value(name: str, given: float | Array | None) -> int | float | Array | None:
        if name == "multiplier":
            return np.full_like(given, 1 << 30) if isinstance(given, np.ndarray) else 1 << 30
        if name == "shift":
            is_conv = isinstance(given, np.ndarray)
            return np.full_like(given, -6) if is_conv else -1
        if name.startswith("activation_") and "_s16" in call.kernel:
            return -(1 << 15) if name.endswith("min") else (1 << 15) - 1
        if name == "output_shift":
            return _OUTPUT_SHIFTS.get(call.kernel, given)
        if name == "scale":
            return 1.0
        if name == "table" and isinstance(given, np.ndarray):
            return rng.permutation(np.arange(-128, 128)).astype(np.int8)
        if name in ("bias", "filler") and isinstance(given, np.ndarray):
            return np.zeros_like(given)
        if name == "filter" and isinstance(given, np.ndarray):
            signs = rng.choice([-1, 1], given.shape)
            return (signs * rng.integers(20, 41, given.shape)).astype(given.dtype)
        if name in _WIDE and isinstance(given, float):
            return _WIDE[name]
        return _PLAIN.get(name, given)

    params = call.params_as(Params)
    return replace(call, params=params.replaced(**{name: value(name, given) for name, given in params.by_name.items()}))


def _contents(kind: DType, count: int, rng: np.random.Generator) -> bytes:
    if kind is DType.F32:
        return rng.integers(-100, 101, -(-_TRIALS * count // 4)).astype(np.float32).tobytes()[: _TRIALS * count]
    return rng.integers(-128, 128, _TRIALS * count).astype(np.int8).tobytes()


def run(probes: Sequence[Probe], folder: Path) -> list[list[bool]]:
    """For each probe and each distance from -unit upward, whether the result is that without overlap."""
    kernels = frozenset(probe.call.kernel for probe in probes)
    names = closure(kernels, ("portable",))
    starts = range(0, len(probes), _IN_A_FILE)
    written = [folder / f"probes_{start}.c" for start in starts]
    for start, path in zip(starts, written, strict=True):
        path.write_text(_some(probes[start : start + _IN_A_FILE], start))
    main = folder / "main.c"
    main.write_text(_main(starts))
    sources = unity_files([portable_folder() / name for name in names if name.endswith(".c")], folder)
    # Level 0 keeps the order of reads and writes: where types differ, compilers may read several elements before they write one.
    program = build_program([*sources, *written, main], includes=[portable_folder()], level="0")
    sent = b"".join(probe.data for probe in probes)
    done = subprocess.run([str(program)], input=sent, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    answers, place = [], 0
    for probe in probes:
        count = -(-probe.output_bytes // probe.unit) + 2
        answers.append([byte == 1 for byte in done.stdout[place : place + count]])
        place += count
    assert place == len(done.stdout)
    return answers


def _main(starts: Sequence[int]) -> str:
    """The program: all files of probes in turn."""
    declared = "".join(f"void probes_{start}(void);\n" for start in starts)
    called = "".join(f"    probes_{start}();\n" for start in starts)
    return f"{declared}int main(void)\n{{\n{called}    return 0;\n}}\n"


def _some(probes: Sequence[Probe], start: int) -> str:
    """A file of probes."""
    kernels = sorted({probe.call.kernel for probe in probes})
    lines = [f'#include "{header}"' for header in sorted({header_of(kernel) for kernel in kernels})] + [
        _HARNESS.read_text()
    ]
    for number, probe in enumerate(probes):
        call, (source, output) = probe.call, probe.types
        fields = ", ".join(f".{name} = {_literal(value)}" for name, value in call.by_name.items())
        step = f", {probe.step}" if call.takes_step else ""
        rows = "rows" if call.is_untyped else f"(const {source.c} *const *)rows"
        place = "output" if call.is_untyped else f"({output.c} *)output"
        states, behind = _states(probe)
        if probe.others is not None:
            place, states = "outputs", _outputs(probe.others) + states
        lines += [
            f"static const {struct_name(call.kernel)} params_{number} = {{{fields}}};",
            f"static void run_{number}(void *output, const void *const *rows, void *scratch)",
            f"{{ {states}{call.kernel}({place}, {rows}, &params_{number}, scratch{step}{behind}); }}",
            f"static const int32_t pointers_{number}[][2] = {{{', '.join(f'{{{a}, {b}}}' for a, b in probe.pointers)}}};",
        ]
    lines.append(f"void probes_{start}(void);\nvoid probes_{start}(void)\n{{")
    for number, p in enumerate(probes):
        values = (
            f"run_{number}", p.output_bytes, p.call.scratch_bytes, p.row_bytes, p.row_count, len(p.pointers),
            f"&pointers_{number}[0][0]", p.over, p.fill, p.unit, _TRIALS, p.declared,
        )  # fmt: skip
        lines.append(f"    check(&(const probe){{{', '.join(map(str, values))}}});")
    return "\n".join([*lines, "}\n"])


def _outputs(others: tuple[tuple[int, ...], tuple[int, ...]]) -> str:
    """The definition of a table of outputs, one of which is `output`."""
    names = [
        [f"{side}_{k}" for k in range(len(sizes))] for side, sizes in zip(("before", "after"), others, strict=True)
    ]
    sizes = [
        (name, size) for its, each in zip(names, others, strict=True) for name, size in zip(its, each, strict=True)
    ]
    arrays = "".join(f"uint64_t {name}[{-(-size // 8)}]; " for name, size in sizes)
    return f"{arrays}void *const outputs[] = {{{', '.join([*names[0], 'output', *names[1]])}}}; "


def _states(probe: Probe) -> tuple[str, str]:
    """Definitions of a kernel's states, and how it is given them; nothing where it has none."""
    if not probe.state_bytes:
        return "", ""
    names = [f"state_{number}" for number in range(len(probe.state_bytes))]
    sizes = zip(names, probe.state_bytes, strict=True)
    arrays = "".join(f"uint64_t {name}[{-(-size // 8)}] = {{0}}; " for name, size in sizes)
    return f"{arrays}void *const states[] = {{{', '.join(names)}}}; ", ", states"


def _literal(value: float | Array | None) -> str:
    if isinstance(value, np.ndarray):
        return f"(const {DType.of(value).c}[]){{{', '.join(map(str, value.reshape(-1).tolist()))}}}"
    return literal(value, "float").text if isinstance(value, float) else str(value)
