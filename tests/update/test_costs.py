"""What updates cost on a Cortex-M4: code, and in place RAM, stack, instructions, and bytes of the package, as the page says."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.emulator import Call, Core
from kibi.engines.core import written_core
from kibi.passes import simplify
from kibi.planfile.like import layout_of, written_like
from kibi.planfile.package_records import PACKAGE, Payload
from kibi.planfile.reader import PlanFile
from kibi.planfile.writer import written_file
from kibi.planner import validate
from kibi.targets import target
from kibi.toolchain import Image, build_image
from kibi.update.delta import encode
from tests.docs.documents import DOCS
from tests.support import zoo
from tests.toolchain.tools import check_cross
from tests.update.packages import HEAD_BYTES, MODEL, TARGET, file_of, package_of

_SECTOR_BYTES, _SLOT_BYTES, _STAGING_BYTES = 4096, 36864, 8192
_NAMES = ("boot", "begin", "write", "wanted", "finish")
_ENTRIES = [f"kibi_in_place_{name}" for name in _NAMES]
_FILES = frozenset(
    (
        *("kibi_update_in_place.c", "kibi_delta.c", "kibi_sha256.c", "kibi_core.c", "kibi_run.c", "kibi_crc32.c"),
        *("kibi_kernels.c", "kibi_contracts.c"),
    )
)
_SHARED = ("mem", "kibi_sha256", "kibi_crc32", "kibi_kernel_of", "kibi_refused")
_LAYERS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
_CHUNK = 512


def _told(pattern: str) -> list[int]:
    """Figures of the page."""
    found = re.search(pattern.replace(" ", r"\s+"), (DOCS / "field-updates.md").read_text("utf-8"))
    assert found is not None, pattern
    return [int(each.replace(",", "")) for each in found.groups()]


def _image(folder: Path, compiler: str, entries: Sequence[str]) -> Image:
    sources = [*written_core(["kibi_add_s8"], target("cortex-m4"), folder)]
    (folder / "costs.h").write_text(
        f"enum {{ SECTOR_BYTES = {_SECTOR_BYTES}, SLOT_BYTES = {_SLOT_BYTES} }};\n"
        f"#define TARGET {TARGET}u\n#define MODEL {MODEL}u\n"
    )
    (folder / "costs.c").write_text(Path(__file__).with_name("costs.c").read_text())
    chosen = [each for each in sources if each.name in _FILES or each.parent.name == "kernels"]
    return build_image(
        [*chosen, folder / "costs.c"], target("cortex-m4"), entries=[*_ENTRIES, *entries], compiler=compiler, level="s",
        includes=[folder],
    )  # fmt: skip


@pytest.mark.parametrize("compiler", ["gcc", "zig"])
@pytest.mark.parametrize(
    ("source", "prefix", "further", "told"),
    [
        ("kibi_update.c", "update", ("confirm", "reject"), "On the Cortex-M4 with `-Os`, all functions take"),
        ("kibi_update_in_place.c", "in_place", (), "In place, all functions take"),
    ],
    ids=["two slots", "in place"],
)
def test_code_takes_what_the_page_says(
    source: str, prefix: str, further: Sequence[str], told: str, compiler: str, tmp_path: Path
) -> None:
    """All functions with the decoder of deltas, besides the check sums and the search for kernels that a core has."""
    if compiler == "gcc":
        check_cross()
    names = _FILES - {"kibi_update_in_place.c", "kibi_kernels.c", "kibi_contracts.c"} | {source}
    sources = [each for each in written_core(["kibi_add_s8"], target("cortex-m4"), tmp_path) if each.name in names]
    image = build_image(
        sources, target("cortex-m4"), entries=[f"kibi_{prefix}_{name}" for name in (*_NAMES, *further)], compiler=compiler,
        level="s", includes=[tmp_path],
    )  # fmt: skip
    found = sum(end - first for first, end, name in image.functions if not any(each in name for each in _SHARED))
    limit = _told(rf"{told} ([\d,]+) bytes of code with gcc and ([\d,]+) with zig")[compiler == "zig"]
    assert limit * 0.95 <= found <= limit * (1.05 if compiler == "gcc" else 1), found


class _Device:
    """An emulated device in place."""

    def __init__(self, folder: Path, compiler: str) -> None:
        self.core = Core(_image(folder, compiler, ["prepare", "update_of", "boot_of"]), target("cortex-m4"))
        flash_bytes = _SLOT_BYTES + 3 * _SECTOR_BYTES + _STAGING_BYTES
        self._flash = self.core.allocate("flash", flash_bytes, alignment=8)
        self.core.write(self._flash, b"\xff" * flash_bytes)
        self._memory = self.core.allocate("memory", 1024, alignment=8)
        self._piece = self.core.allocate("piece", _CHUNK, alignment=8)
        self.core.call("prepare", self._memory, self._flash, _STAGING_BYTES)
        self._update = self._memory + self.core.call("update_of").value
        self.calls: dict[str, list[Call]] = {name: [] for name in _NAMES}

    def call(self, name: str, *arguments: int) -> None:
        done = self.core.call(f"kibi_in_place_{name}", *arguments)
        self.calls[name].append(done)
        assert done.signed_value == 0, name

    def install(self, package: bytes) -> None:
        """Receives a package, and starts the model."""
        self.call("begin", self._update, self._memory)
        for at in range(0, len(package), _CHUNK):
            piece = package[at : at + _CHUNK]
            self.core.write(self._piece, piece)
            self.call("write", self._update, at, self._piece, len(piece))
        self.call("finish", self._update)
        self.call("boot", self._memory, self._memory + self.core.call("boot_of").value)

    def file(self, count: int) -> bytes:
        """What is in the slot."""
        return self.core.read(self._flash, count)


def _without_kernels(package: bytes) -> bytes:
    """The package of a file that needs no kernels: a core without any takes it."""
    count = PACKAGE.read(package, 0)["kernel_count"]
    record = PACKAGE.packed(**{**PACKAGE.read(package, 0), "kernel_count": 0, "kernel_sum": 0})
    return record + bytes(HEAD_BYTES - len(record)) + package[HEAD_BYTES + 4 * count :]


def test_stack_and_ram_in_place_are_those_of_the_page(tmp_path: Path) -> None:
    """Of the start, which applies an update, and of all other functions."""
    check_cross()
    old, new = file_of(0), file_of(1)
    device = _Device(tmp_path, "gcc")
    device.install(_without_kernels(package_of(old, 1)))
    device.install(_without_kernels(package_of(new, 2, old, in_place=_SECTOR_BYTES)))
    assert device.file(len(new.data)) == new.data
    stacks = {name: max(call.stack_bytes for call in calls) for name, calls in device.calls.items() if calls}
    boot = stacks.pop("boot")
    told = _told(r"`kibi_in_place_boot` takes ([\d,]+) bytes of stack, the others at most ([\d,]+)")
    assert [boot, max(stacks.values())] == told, stacks


@pytest.mark.slow
@zoo.requires_zoo
def test_update_of_key_words_in_place_is_that_of_the_page(tmp_path: Path) -> None:
    """The weights of the page's first delta: the bytes of the payload, and what trying and applying it take."""
    graph = kibi.load(zoo.catalog()["mlperf_kws_int8"].path)
    simplified = simplify(graph)
    planned = validate(simplified.graph, kibi.plan(simplified.graph, target="cortex-m4"))
    file = written_file(planned)
    drawn, tensors = np.random.default_rng(0), list(graph.tensors)
    for index in sorted({view.node.inputs[1] or 0 for view in graph.views if view.op.name in _LAYERS}):
        data = np.asarray(tensors[index].data, np.int16)
        moved = np.where(drawn.random(data.shape) < 0.3, drawn.choice((-2, -1, 0, 1, 2), data.shape), 0)
        tensors[index] = replace(tensors[index], data=np.clip(data + moved, -127, 127).astype(np.int8))
    made = written_like(replace(graph, tensors=tuple(tensors)), layout_of(planned, simplified, file))
    old, new = PlanFile(file.data), PlanFile(made.data)
    package = package_of(new, 2, old, in_place=_SECTOR_BYTES)
    assert PACKAGE.read(package, 0)["kind"] == Payload.IN_PLACE
    sizes = [
        len(encode(old.data, new.data, bytes_, in_place=in_place))
        for bytes_, in_place in ((4096, False), (4096, True), (2048, True), (1024, True))
    ]
    device = _Device(tmp_path, "zig")
    device.install(_without_kernels(package_of(old, 1)))
    device.install(_without_kernels(package))
    assert device.file(len(new.data)) == new.data
    tried, applied = (device.calls[name][-1].instructions for name in ("finish", "boot"))
    page = _told(
        r"takes ([\d,]+) bytes, and ([\d,]+) in place; with sectors of 2,048 bytes ([\d,]+), of 1,024 bytes ([\d,]+)"
    )
    assert sizes == page
    assert _told(r"whose plan file has ([\d,]+) bytes") == [len(old.data)]
    assert [round(tried, -5), round(applied, -5)] == _told(
        r"`kibi_in_place_finish` takes ([\d,]+) instructions, and the start that applies it ([\d,]+)"
    ), (tried, applied)
