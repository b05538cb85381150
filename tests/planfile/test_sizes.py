"""What a core costs on a Cortex-M4: bytes of code without kernels, and what it leaves out that its kernels do not need."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

import kibi
from kibi.engines.core import CoreEngine, core_library, written_core
from kibi.engines.core_device import core_image
from kibi.errors import PlanError, TargetError
from kibi.kernels.params import PARAMS
from kibi.kernels.params.contract_operations import Op, depth, operations
from kibi.planfile.contracts import contract_of
from kibi.planfile.core_library import Core
from kibi.planfile.kernel_ids import kernel_id, part_id, parts_of
from kibi.planfile.kernel_lists import kernels_of
from kibi.planfile.reader import PlanFile
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel
from kibi.targets import target
from kibi.toolchain import build_image
from tests.docs.documents import DOCS
from tests.engines.networks import pooled_network
from tests.ops.comparison import graph_of
from tests.ops.convolutions import GEOMETRIES, Geometry, convolution
from tests.planfile.mutants import with_digest
from tests.support import zoo
from tests.toolchain.tools import check_cross

_INVOKE = 2048
"""The most bytes of what runs a file."""
_CONTRACT = 156
_ODD = 55
"""The most bytes of a contract."""
_DEPTH = 32
"""The most numbers of 32 bits that a contract puts on its stack."""
_CHECKS = 2560
"""The most bytes of all checks, in the core of the model for key words."""
_LINE = re.compile(r"^\| `kibi_model_\w+`.*?" + r" \| ([\d,]+)" * 4 + r" \|$", re.MULTILINE)
"""A line of the page's table: bytes with gcc and with zig, of the core of one model and of one for all convolutional ones."""
_KEY_WORDS = "mlperf_kws_int8"
_SOURCES = frozenset(("kibi_run.c", "kibi_core.c", "kibi_open.c", "kibi_contract.c", "kibi_sha256.c"))
"""The files of a core that open models and run them: an application names the kernels."""


def code_bytes(
    kernels: Sequence[str], entries: Sequence[str], compiler: str, folder: Path, parts: frozenset[str] | None = None
) -> int:
    """Bytes of the functions that some functions of the core need, without those of the C library."""
    sources = [each for each in written_core(kernels, target("cortex-m4"), folder, parts) if each.name in _SOURCES]
    names = [f"kibi_model_{entry}" for entry in entries]
    image = build_image(sources, target("cortex-m4"), entries=names, compiler=compiler, level="s", includes=[folder])
    return sum(end - first for first, end, name in image.functions if "mem" not in name)


def _core_bytes(
    kernels: Sequence[str], compiler: str, folder: Path, parts: frozenset[str] | None = None
) -> tuple[int, int, int]:
    """Bytes that run a file; those that open one besides; and those that check it besides."""
    entries = (("invoke",), ("invoke", "open_trusted"), ("invoke", "open"))
    run, trusted, checked = (
        code_bytes(kernels, each, compiler, folder / str(number), parts) for number, each in enumerate(entries)
    )
    return run, trusted - run, checked - trusted


_CHECKPOINTS = ("kibi_checkpoint.c", "kibi_lives.c", "kibi_newest_slot.c", "kibi_crc32.c")


@zoo.requires_zoo
@pytest.mark.parametrize("compiler", ["gcc", "zig"])
def test_writing_weights_takes_what_the_page_says(compiler: str, tmp_path: Path) -> None:
    """Besides all that opens and runs a file, and besides checkpoints; the struct of an open model stays as it is."""
    if compiler == "gcc":
        check_cross()
    graph = kibi.simplify(kibi.load(zoo.catalog()[_KEY_WORDS].path))
    file = kibi.compile_plan(graph, kibi.plan(graph, target="cortex-m4"))
    plain, saved = (
        [_bytes_of(file, compiler, tmp_path, weights=weights, saves=saves) for weights in (False, True)]
        for saves in (False, True)
    )
    found = plain[1] - plain[0], saved[1] - saved[0] - (plain[1] - plain[0])
    page = (DOCS / "field-updates.md").read_text("utf-8")
    for each, what in zip(found, ("take", "checkpoints take"), strict=True):
        told = re.search(rf"{what} (\d+) bytes (?:of code )?with gcc and (\d+) with zig", page)
        assert told is not None
        limit = int(told[1 + (compiler == "zig")])
        assert abs(each - limit) <= limit * (0.05 if compiler == "gcc" else 0), found


def _bytes_of(file: PlanFile, compiler: str, folder: Path, *, weights: bool, saves: bool) -> int:
    """Bytes of code of the core for a file that opens and runs it, without kernels; writes its weights; saves inferences."""
    within = folder / f"{weights}_{saves}"
    names = {*_SOURCES, *(["kibi_weights.c"] if weights else []), *(_CHECKPOINTS if saves else [])}
    written = written_core(file.kernels, target("cortex-m4"), within, file.parts, weights=weights)
    sources = [each for each in written if each.name in names]
    entries = ["kibi_model_invoke", "kibi_model_open", *(["kibi_weights_write"] if weights else [])]
    entries += ["kibi_model_checkpoint", "kibi_model_resume"] if saves else []
    image = build_image(sources, target("cortex-m4"), entries=entries, compiler=compiler, level="s", includes=[within])
    return sum(end - first for first, end, name in image.functions if "mem" not in name)


def _check_told(found: tuple[int, int, int], column: int, compiler: str) -> None:
    """Compares bytes with a column of the page's table: those of another gcc may differ a little."""
    lines = _LINE.findall((DOCS / "plan-file.md").read_text("utf-8"))
    told = [int(line[column].replace(",", "")) for line in lines]
    assert found[0] <= _INVOKE
    assert all(abs(a - b) <= b * (0.05 if compiler == "gcc" else 0) for a, b in zip(found, told, strict=True)), found


@pytest.mark.parametrize("compiler", ["gcc", "zig"])
def test_convolutional_core_is_as_small_as_the_page_says(compiler: str, tmp_path: Path) -> None:
    """The invoke path of a core for convolutional models keeps its limit; its checks have the size that is told."""
    if compiler == "gcc":
        check_cross()
    kernels = kernels_of(["cnn-s8"], target("cortex-m4"))
    _check_told(_core_bytes(kernels, compiler, tmp_path), 2 + (compiler == "zig"), compiler)


@zoo.requires_zoo
@pytest.mark.parametrize("compiler", ["gcc", "zig"])
def test_core_for_one_model_is_as_small_as_the_page_says(compiler: str, tmp_path: Path) -> None:
    """The same of the core for one model, whose checks keep their limit."""
    if compiler == "gcc":
        check_cross()
    graph = kibi.simplify(kibi.load(zoo.catalog()[_KEY_WORDS].path))
    file = kibi.compile_plan(graph, kibi.plan(graph, target="cortex-m4"))
    found = _core_bytes(file.kernels, compiler, tmp_path, file.parts)
    _check_told(found, int(compiler == "zig"), compiler)
    assert found[2] <= _CHECKS


def test_core_leaves_out_what_its_kernels_do_not_need(tmp_path: Path) -> None:
    """A core without IF and WHILE runs no graphs; contracts of fewer operations need a smaller evaluator."""
    plain = ["kibi_add_s8"]
    control = [*plain, "kibi_if_any"]
    for entry in ("invoke", "open"):
        less = code_bytes(plain, [entry], "zig", tmp_path / f"{entry}_less")
        more = code_bytes(control, [entry], "zig", tmp_path / f"{entry}_more")
        assert less + 100 < more


@pytest.mark.parametrize("kernel", sorted(PARAMS))
def test_contract_takes_few_bytes(kernel: str) -> None:
    """Each core has the contracts of its kernels in flash. With odd channels, a contract has that of another kernel."""
    contract = contract_of(kernel)
    assert len(contract) <= _CONTRACT + (_ODD if kernel.endswith("_odd") else 0)
    assert depth(contract) <= _DEPTH


def test_contract_of_no_kernel_is_missing(tmp_path: Path) -> None:
    """The features of a core name each operation that a contract of its kernels has, and no other one."""
    kernels = ["kibi_add_s8", "kibi_strided_copy_any"]
    assert set(kernels) <= PARAMS.keys()
    written_core(kernels, target("cortex-m4"), tmp_path)
    text = (tmp_path / "kibi_features.h").read_text(encoding="utf-8")
    used = {each for each in Op if f"#define KIBI_USES_{each.name} 1\n" in text}
    assert used == {each for kernel in kernels for each, _ in operations(contract_of(kernel))}


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
@pytest.mark.parametrize("goal", ["speed", "balanced"])
def test_file_lists_all_parts_of_kernels_that_its_layers_need(geometry: Geometry, goal: str) -> None:
    """What generated C would leave out at most, a core may leave out, too: the rule of a part knows each layer that needs it."""
    graph = graph_of(convolution(geometry))
    planned = PlannedModel.of(graph, kibi.plan(graph, target="cortex-m4", goal=goal))
    file = PlanFile(plan_file(planned))
    needed = frozenset[str]().union(*(call.features for call in planned.graph.calls))
    assert needed & parts_of(PARAMS) <= file.parts <= parts_of(file.kernels)


def test_core_without_parts_is_smaller_and_refuses_layers_that_need_them() -> None:
    """A layer with an odd number of channels has no kernel on a core that was made for even ones; the text names the part."""
    graphs = [graph_of(convolution(Geometry(16, outputs, kernel=(1, 1)))) for outputs in (16, 9)]
    even, odd = map(kibi.compile_plan, graphs)
    kernel = "kibi_conv2d_s8_blocks"
    assert (kernel,) == even.kernels == odd.kernels
    core = Core.of([kernel], target("cortex-m4"), even.parts)
    assert "KIBI_CONV2D_BLOCKS_OF_ODD_CHANNELS" in core.without
    assert not set(odd.kernel_ids) <= set(core.ids)
    with pytest.raises(TargetError, match="conv2d_s8_blocks with KIBI_CONV2D_BLOCKS_OF_ODD_CHANNELS"):
        kibi.compile_plan(graphs[1], kibi.plan(graphs[1], target="cortex-m4"), core=core)
    whole = core_image([kernel], target("cortex-m4"))
    assert core_image([kernel], target("cortex-m4"), parts=even.parts).code_bytes < whole.code_bytes
    assert len(contract_of(kernel, frozenset(core.without))) > len(contract_of(kernel))


@pytest.mark.parametrize(
    ("part", "wish", "rows", "text"),
    [
        ("KIBI_CORE_STREAMS", {"input": "streamed"}, 7, "for inputs by the row"),
        ("KIBI_CORE_EXTERNALS", {"input": "external"}, 7, "for external buffers"),
        ("KIBI_CORE_HALVES", {}, 270, "for an order with numbers beyond a byte"),
        pytest.param(
            *("KIBI_CORE_WIDE", {"granularity": "tensor"}, 2400, "for an arena of more than 64 KiB"),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_core_leaves_out_what_runs_other_files(part: str, wish: dict[str, str], rows: int, text: str) -> None:
    """Rows that arrive, entries of 16 bits and of 32: a file that needs one says so, and is refused, also if it does not say so."""
    graph = pooled_network("MEAN", height=rows)
    plan = kibi.plan(graph, target="cortex-m4", **wish)  # type: ignore[arg-type]
    file = kibi.compile_plan(graph, plan)
    assert part in file.parts
    core = Core.of(file.kernels, target("cortex-m4"), file.parts - {part})
    with pytest.raises(TargetError, match=text):
        kibi.compile_plan(graph, plan, core=core)
    data = bytearray(file.data)
    ids = file.header["kernels"] + 4 * file.kernel_ids.index(part_id(part))
    data[ids : ids + 4] = kernel_id(file.kernels[0]).to_bytes(4, "little")
    library = core_library(file.kernels, parts=file.parts - {part})
    with pytest.raises(PlanError):
        CoreEngine(PlanFile(with_digest(data)), library=library)
    assert CoreEngine(file, library=core_library(file.kernels, parts=file.parts)).file is file
