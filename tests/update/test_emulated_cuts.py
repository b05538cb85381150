"""Power is lost at any instruction of an emulated Cortex-M4 that updates its model: the old or the new one is there."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.emulator import Core
from kibi.engines.core import written_core
from kibi.errors import EmulationError
from kibi.planfile.reader import PlanFile
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel
from kibi.targets import target
from kibi.toolchain import build_image
from tests.engines.networks import residual_network
from tests.support.amount import amount
from tests.update.packages import MODEL, TARGET, package_of

_CUTS = amount(40, 100_000)
_SLOT_BYTES, _JOURNAL_BYTES, _STAGING_BYTES, _SECTOR_BYTES = 2304, 512, 768, 256
_RAM_BYTES, _BOOT_BYTES = 512, 16
_OK, _NO_MODEL = 0, -24
_LIMIT = 10**8


def _file(seed: int) -> PlanFile:
    graph = residual_network(3, 3, 1, seed)
    return PlanFile(plan_file(PlannedModel.of(graph, kibi.plan(graph, target="cortex-m4"))))


class _Device:
    """An emulated core, its flash, and the two versions of its model."""

    def __init__(self, folder: Path, seed: int, *, in_place: bool = False) -> None:
        self.files = {1: _file(0), 2: _file(1)}
        blocks, staging = (_SECTOR_BYTES, _STAGING_BYTES) if in_place else (0, 0)
        packages = {
            1: package_of(self.files[1], 1),
            2: package_of(self.files[2], 2, self.files[1], in_place=blocks),
        }
        processor = target("cortex-m4")
        kernels = sorted({*self.files[1].kernels, *self.files[2].kernels})
        sources = written_core(kernels, processor, folder)
        (folder / "emulated.h").write_text(
            f"#define SLOT_BYTES {_SLOT_BYTES}u\n#define JOURNAL_BYTES {_JOURNAL_BYTES}u\n"
            f"#define TARGET {TARGET}u\n#define MODEL {MODEL}u\n#define STAGING_BYTES {staging}u\n"
        )
        (folder / "emulated.c").write_text(Path(__file__).with_name("emulated.c").read_text())
        image = build_image(
            [*sources, folder / "emulated.c"], processor, entries=["start", "power_on"], level="s", includes=[folder]
        )
        self.core, self.random = Core(image, processor), np.random.default_rng(seed)
        self._flash_bytes = _SLOT_BYTES + _JOURNAL_BYTES + (staging + _SECTOR_BYTES if in_place else _SLOT_BYTES)
        self._flash = self.core.allocate("flash", self._flash_bytes, alignment=8)
        self._update = self.core.allocate("update", _RAM_BYTES, alignment=8)
        self._boot = self.core.allocate("boot", _BOOT_BYTES, alignment=4)
        self._memory = {}
        for counter, data in packages.items():
            package = self.core.allocate(f"package {counter}", len(data), alignment=4, writable=False)
            self.core.write(package, data)
            self._memory[counter] = self.core.allocate(f"memory {counter}", 20, alignment=4)
            words = np.array([self._flash, package, len(data), self._update, self._boot], "<u4")
            self.core.write(self._memory[counter], words.tobytes())
        self.erase()

    def erase(self) -> None:
        """Makes the device a new one."""
        self.core.write(self._flash, b"\xff" * self._flash_bytes)

    def lose_power(self) -> None:
        """Puts anything into RAM."""
        for place, size in ((self._update, _RAM_BYTES), (self._boot, _BOOT_BYTES)):
            self.core.write(place, self.random.integers(0, 256, size, np.uint8).tobytes())

    def power_on(self, counter: int, limit: int = _LIMIT, *, works: bool = True) -> tuple[int, int] | None:
        """What the device does with a package at hand, and its instructions; None: its power was lost."""
        self.lose_power()
        try:
            done = self.core.call("power_on", self._memory[counter], int(works), counter, instruction_limit=limit)
        except EmulationError as error:
            assert "no end after" in str(error)  # noqa: PT017 - the limit is the cut
            return None
        return done.signed_value, done.instructions

    def started(self) -> int:
        """The version that a start gives, whose file is whole, byte for byte; 0: there is none."""
        self.lose_power()
        status = self.core.call("start", self._memory[1], instruction_limit=_LIMIT).signed_value
        place, size, counter, _ = (int(word) for word in np.frombuffer(self.core.read(self._boot, _BOOT_BYTES), "<u4"))
        if status == _NO_MODEL:
            assert place == 0
            return 0
        assert status == _OK
        assert self.core.read(place, size) == self.files[counter].data
        return counter


def _survived(device: _Device, cuts: int) -> dict[str, int]:
    """Loses power so often, while a first model is installed, while it is updated, and while an update is rolled back."""
    whole = {}
    for counter in (1, 2):
        done = device.power_on(counter)
        assert done is not None
        assert done[0] == _OK
        whole[counter] = done[1]
    lost = dict.fromkeys(("first model", "update", "return"), 0)
    seen = {name: set[int]() for name in lost}
    while sum(lost.values()) < cuts:
        device.erase()
        second = ("update", 2, True) if device.random.integers(2) else ("return", 2, False)
        for name, counter, works in (("first model", 1, True), second):
            for _ in range(int(device.random.integers(1, 5))):
                limit = int(device.random.integers(1, whole[counter]))
                if device.power_on(counter, limit, works=works) is None:
                    lost[name] += 1
                    seen[name].add(device.started())
            for _ in range(4):  # until the package is installed, or the starts are used up
                done = device.power_on(counter, works=works)
                assert done is not None
                assert done[0] == _OK
                seen[name].add(device.started())
            assert device.started() in ((counter,) if works else (1, 2))
    assert seen["first model"] <= {0, 1}
    assert seen["update"] == seen["return"] == {1, 2}
    return lost


@pytest.mark.timeout(36000)
def test_loss_of_power_at_any_instruction_leaves_the_old_or_the_new_model(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """A first model, its update by a delta, and the return to the old one when nobody confirms; up to four losses in each."""
    lost = _survived(_Device(tmp_path, 1), _CUTS)
    record_property("losses of power", lost)
    assert min(lost.values()) > _CUTS // 10


def _survived_in_place(device: _Device, cuts: int) -> dict[str, int]:
    """Loses power so often, while a first model is installed, and while a delta takes its place."""
    whole, lost = {}, {1: 0, 2: 0}
    for counter in (1, 2):
        done = device.power_on(counter)
        assert done is not None
        assert done[0] == _OK
        whole[counter] = done[1]
    while sum(lost.values()) < cuts:
        device.erase()
        for counter, before in ((1, {0, 1}), (2, {1, 2})):
            for _ in range(int(device.random.integers(1, 5))):
                limit = int(device.random.integers(1, whole[counter]))
                if device.power_on(counter, limit) is None:
                    lost[counter] += 1
                    if device.random.integers(2):
                        assert device.started() in before
            done = device.power_on(counter)
            assert done is not None
            assert done[0] == _OK
            assert device.started() == counter
    return {"first model": lost[1], "update": lost[2]}


@pytest.mark.timeout(36000)
def test_loss_of_power_at_any_instruction_in_place_leaves_the_old_or_the_new_model(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """A first model, and its update in place; up to four losses in each, in the middle of what follows a loss, too."""
    lost = _survived_in_place(_Device(tmp_path, 2, in_place=True), _CUTS // 2)
    record_property("losses of power in place", lost)
    assert min(lost.values()) > _CUTS // 10
