"""A device in the field gets a new model over a bad line, in the middle of inferences, and loses its power three times.

    pip install "kibi[update]"
    python examples/field_update/field_update.py build/field_update

The device runs on an emulated Cortex-M4. It classifies pictures in slices; between them it hears frames of the package on a line
that loses and damages some. After each loss of power its RAM is empty, and its flash is as the cut left it.
"""

import struct
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import kibi
from kibi import demo
from kibi.dtypes import DType
from kibi.emulator import Core
from kibi.errors import EmulationError
from kibi.ir import Graph
from kibi.passes import simplify
from kibi.planfile.reader import PlanFile
from kibi.toolchain import Image, build_image
from kibi.update.package import Package

HERE = Path(__file__).parent
MODEL, TARGET = "glyphs", "cortex-m4"
SECTOR_BYTES, SLOT_BYTES = 1024, 20 * 1024
FLASH_BYTES = 2 * SLOT_BYTES + 2 * SECTOR_BYTES
FRAME_BYTES, MARK, UNKNOWN = 16, 0x7E, 1000
CUTS = (700_000, 1_000_000, 2_400_000)
"""The power is lost after so many instructions, then after so many more."""
ENTRIES = (
    "device_start",
    "device_see",
    "device_think",
    "device_hear",
    "device_finish",
    "device_confirm",
    "device_bytes",
)


@dataclass(frozen=True)
class Models:
    """Two versions of a model.

    Attributes:
        versions: their plan files, the first one on the device from the start.
        package: what brings the second one, signed.
    """

    versions: tuple[PlanFile, PlanFile]
    package: Package


def models(folder: Path) -> Models:
    """Makes both versions: the second one has other weights, as after fine-tuning, in the layout of the first one."""
    graph = kibi.load(demo.model_path())
    simplified = simplify(graph)
    path = folder / "version1.kibi"
    old = kibi.compile_plan(simplified.graph, kibi.plan(simplified.graph, TARGET), path, simplified=simplified)
    new = PlanFile(kibi.compile_like(_tuned(graph), path, folder / "version2.kibi").data)
    key = kibi.generate_key()
    package = kibi.sign_update(old, new, key, model=MODEL, counter=2, target=TARGET, path=folder / "version2.kibid")
    return Models((old, new), package)


def _tuned(graph: Graph) -> Graph:
    """The model with a third of its weights changed by 1 or 2."""
    random = np.random.default_rng(1)
    tensors = list(graph.tensors)
    for index, tensor in enumerate(tensors):
        if tensor.data is not None and tensor.type.dtype is DType.S8 and tensor.data.ndim > 1:
            steps = random.choice([-2, -1, 1, 2], tensor.data.shape) * (random.random(tensor.data.shape) < 1 / 3)
            weights = np.clip(tensor.data.astype(np.int16) + steps, -127, 127).astype(np.int8)
            tensors[index] = replace(tensor, data=np.where(tensor.data == 0, tensor.data, weights))
    return replace(graph, tensors=tuple(tensors))


def firmware(made: Models, folder: Path) -> Image:
    """Builds the device's program: a core with the kernels of both versions, and `device.c`."""
    kibi.compile_core(made.versions, folder, target=TARGET)
    settings = f"#define DEVICE_MODEL {made.package.model}u\n#define DEVICE_TARGET {made.package.target}u\n"
    (folder / "settings.h").write_text(settings, encoding="utf-8")
    sources = [path for path in sorted(folder.rglob("*.c")) if path.name not in _NOT_BUILT]
    return build_image(
        [*sources, HERE / "device.c"], kibi.target(TARGET), entries=ENTRIES, level="s", includes=[folder, HERE]
    )


_NOT_BUILT = ("example_main.c", "kibi_verify_monocypher.c", "kibi_verify_psa.c")


@dataclass
class Device:
    """The device: its program, and its flash, which outlives its power.

    Attributes:
        image: the program.
        flash: what is in its flash while the power is off.
        starts: how often it was started.
        counter: the version that runs.
        budget: instructions until the power is lost; None: it stays.
    """

    image: Image
    flash: bytes = bytes([0xFF]) * FLASH_BYTES
    starts: int = 0
    counter: int = 0
    budget: int | None = None
    _core: Core = field(init=False, repr=False)

    def start(self) -> None:
        """Gives it power: its RAM has nothing that means anything."""
        self._core = Core(self.image, kibi.target(TARGET))
        self._flash = self._core.allocate("flash", FLASH_BYTES, alignment=1024)
        self._core.write(self._flash, self.flash)
        self._memory = self._core.allocate("device", self._core.call("device_bytes").value, alignment=8)
        self._buffer = self._core.allocate("buffer", 1024, alignment=8, writable=False)
        self.starts += 1
        self.counter = self.call("start", self._flash)

    def call(self, function: str, *arguments: int) -> int:
        """Calls a function of the program.

        Raises:
            EmulationError: the power was lost, or the program went wrong.
        """
        words = () if function == "bytes" else (self._memory, *arguments)
        limit = 1_000_000_000 if self.budget is None else self.budget
        try:
            called = self._core.call(f"device_{function}", *words, instruction_limit=limit)
        finally:
            self.flash = self._core.read(self._flash, FLASH_BYTES)
        if self.budget is not None:
            self.budget -= called.instructions
        return called.signed_value

    def give(self, data: bytes) -> int:
        """Writes bytes where the program can read them; returns the address."""
        self._core.write(self._buffer, data)
        return self._buffer


class Line:
    """A serial line that loses frames and damages bytes."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self.lost = self.damaged = self.frames = 0

    def carry(self, frame: bytes) -> bytes:
        """What arrives of a frame."""
        self.frames += 1
        chance = self._random.random()
        if chance < 0.1:
            self.lost += 1
            return b""
        if chance < 0.2:
            self.damaged += 1
            place = int(self._random.integers(len(frame)))
            return frame[:place] + bytes([frame[place] ^ 1 << int(self._random.integers(8))]) + frame[place + 1 :]
        return frame


def frame_of(package: bytes, offset: int) -> bytes:
    """A frame: a mark, how many bytes of the package follow, the offset of the first one, the bytes, a CRC-32."""
    part = package[offset : offset + FRAME_BYTES]
    head = struct.pack("<BBI", MARK, len(part), offset)
    return head + part + struct.pack("<I", zlib.crc32(head + part))


def classify(device: Device, picture: NDArray[np.int8], steps: int = 1_000_000) -> int:
    """One inference, or the first steps of it."""
    device.call("see", device.give(picture.tobytes()), picture.size)
    return device.call("think", steps)


def pictures() -> NDArray[np.int8]:
    """The pictures of the demo, as the model takes them: `[n, 784]`."""
    images, _ = demo.samples()
    return (images.reshape(len(images), -1).astype(np.int16) - 128).astype(np.int8)


def send(device: Device, package: Package, line: Line, cuts: Sequence[int] = ()) -> list[str]:
    """Sends a package until the device has it, with inferences in slices between the frames.

    Args:
        device: it runs.
        package: what it gets.
        line: what the frames go over.
        cuts: the power is lost after so many instructions, then after so many more, and so on.

    Returns:
        What happened.
    """
    data, seen, told, waiting = package.data, pictures(), list[str](), list(cuts)
    number = wanted = 0
    device.budget = waiting.pop(0) if waiting else None
    while device.counter != package.counter:
        try:
            if wanted < len(data):
                arrived = line.carry(frame_of(data, wanted))
                wanted = device.call("hear", device.give(arrived), len(arrived))
                if device.counter > 0 and device.call("think", 10) != UNKNOWN:
                    number += 1
                    device.call("see", device.give(seen[number % len(seen)].tobytes()), seen.shape[1])
            else:
                if device.call("finish") != 0:
                    raise SystemExit("the device refused the package")
                device.start()
        except EmulationError:
            if device.budget is None:
                raise
            told.append(f"power lost: the device had taken {wanted:,} of {len(data):,} bytes")
            device.budget = None
            device.start()
            told.append(f"started with version {device.counter}")
            device.budget, wanted = waiting.pop(0) if waiting else None, 0
    device.budget = None
    told.append(
        f"{number} inferences meanwhile; {line.frames} frames, of which {line.lost} lost and {line.damaged} damaged"
    )
    return told


def answers(device: Device) -> list[int]:
    """The classes of all pictures."""
    return [classify(device, picture) for picture in pictures()]


def main() -> None:
    """Runs it all, and says what happens."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/field_update")
    folder.mkdir(parents=True, exist_ok=True)
    made = models(folder)
    kind = "delta" if made.package.base_bytes else "whole file"
    print(f"version 2 has {len(made.versions[1].data):,} bytes; its package {len(made.package.data):,}: a {kind}")
    device = Device(firmware(made, folder / "core"))
    device.start()  # in the factory: there is no model yet
    send(
        device,
        Package.whole(made.versions[0], model=made.package.model, counter=1, target=made.package.target),
        Line(0),
    )
    device.call("confirm")
    device.start()
    print(f"version {device.counter} reads the digits {answers(device)}")
    for line in send(device, made.package, Line(1), CUTS):
        print(line)
    print(f"version {device.counter} reads the digits {answers(device)}")
    device.call("confirm")
    device.start()
    print(f"confirmed; after {device.starts} starts it runs version {device.counter}")


if __name__ == "__main__":
    main()
