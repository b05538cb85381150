"""No row is computed twice: the calls of each kernel are counted, on the device and on this machine."""

import ctypes
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import kibi
import kibi.demo
from kibi.codegen import Library
from kibi.emulator import Core
from kibi.ir import Graph
from kibi.kernels import header_of
from kibi.planner import Plan, Run
from kibi.toolchain import build_image, build_shared
from tests.engines.networks import pooled_network, residual_network
from tests.engines.test_interleaved import interleaved_runs
from tests.planner.networks import by_row
from tests.support.amount import sample

Network = Callable[[], tuple[Graph, tuple[Run, ...]]]
"""A model, and an order whose row steps interleave."""


def _by_hand() -> tuple[Graph, tuple[Run, ...]]:
    model = residual_network()
    return model, interleaved_runs()


def _residual() -> tuple[Graph, tuple[Run, ...]]:
    model = residual_network(height=40)
    return model, by_row(model)


def _pooled() -> tuple[Graph, tuple[Run, ...]]:
    model = pooled_network("MEAN", height=30)
    return model, by_row(model)


def _glyphs() -> tuple[Graph, tuple[Run, ...]]:
    model = kibi.load(kibi.demo.model_path())
    return model, by_row(model)


networks = pytest.mark.parametrize("network", [_by_hand, _residual, _pooled, _glyphs])


def _expected(library: Library) -> dict[str, int]:
    """For each kernel, the row steps of all nodes that call it."""
    steps: Counter[str] = Counter()
    for view, kernel in zip(library.model.graph.views, library.model.kernels, strict=True):
        steps[kernel] += view.steps
    return dict(steps)


def _counting(model: Graph, plan: Plan, folder: Path) -> tuple[Library, list[Path]]:
    """The library with a function in front of each kernel that counts its calls, and its C files."""
    library = kibi.compile(model, plan, folder)
    for kernel in _expected(library):
        path = folder / "kernels" / f"{kernel}.c"
        text, count = re.subn(rf"\bvoid {kernel}\(", f"void {kernel}_counted(", path.read_text(encoding="utf-8"))
        assert count == 1 + ("\n#else\n" in text)  # for cores with other instructions, and for all others
        header = (path.parent / header_of(kernel)).read_text(encoding="utf-8")
        declared = re.search(rf"void {kernel}\(([^)]*)\);", header)
        assert declared
        names = ", ".join(each.split()[-1].lstrip("*") for each in declared[1].split(","))
        front = f"void {kernel}({declared[1]})\n{{\n    ++calls_{kernel};\n    {kernel}_counted({names});\n}}\n"
        path.write_text(f"{text}\nuint32_t calls_{kernel};\n{front}", encoding="utf-8")
    return library, [folder / name for name in library.sources]


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize(
    "network", [_by_hand, *(pytest.param(each, marks=pytest.mark.slow) for each in (_residual, _pooled)), _glyphs]
)
@pytest.mark.parametrize("target", sample([("cortex-m4",), ("cortex-m0plus",)]))
def test_each_kernel_is_called_once_a_row_step_on_the_device(network: Network, target: str, tmp_path: Path) -> None:
    """Two inferences on the emulated core call each kernel twice for each row step of its nodes, and no more."""
    model, runs = network()
    assert len(runs) > len(model.nodes)
    plan = kibi.plan(model, target, runs=runs)
    library, sources = _counting(model, plan, tmp_path)
    entries = [f"{model.name}_init", f"{model.name}_invoke"]
    image = build_image(sources, library.target, entries=entries, level="s", includes=[tmp_path])
    core = Core(image, library.target)
    state, arena = core.allocate("state", 64, alignment=8), core.allocate("arena", plan.arena_bytes, alignment=16)
    assert core.call(entries[0], state, arena, plan.arena_bytes).value == 0
    for _ in range(2):
        assert core.call(entries[1], state).value == 0
    counted = {
        kernel: int.from_bytes(core.read(image.symbols[f"calls_{kernel}"].address, 4), "little")
        for kernel in _expected(library)
    }
    assert counted == {kernel: 2 * steps for kernel, steps in _expected(library).items()}


@pytest.mark.share(2, part=1)
@networks
def test_each_kernel_is_called_once_a_row_step_on_the_host(network: Network, tmp_path: Path) -> None:
    """So does the same C on this machine, in one inference."""
    model, runs = network()
    plan = kibi.plan(model, runs=runs)
    library, sources = _counting(model, plan, tmp_path)
    shared = ctypes.CDLL(str(build_shared(sources, includes=[tmp_path])))
    memory = ctypes.create_string_buffer(plan.arena_bytes + 16)
    arena = ctypes.c_void_p(ctypes.addressof(memory) + -ctypes.addressof(memory) % 16)
    state = ctypes.create_string_buffer(64)
    assert shared[f"{model.name}_init"](state, arena, ctypes.c_size_t(plan.arena_bytes)) == 0
    assert shared[f"{model.name}_invoke"](state) == 0
    names = _expected(library)
    assert {name: ctypes.c_uint32.in_dll(shared, f"calls_{name}").value for name in names} == names
