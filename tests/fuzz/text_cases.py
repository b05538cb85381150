"""Mutated texts: saved plans, region files, tables of buffers, sources of events, and what the command line does with them."""

import json
import wave
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz.byte_mutations import mutated
from tests.fuzz.hostile_text import hostile_text

_NUMBERS: tuple[Any, ...] = (
    0, 1, -1, 2, 1 << 31, (1 << 31) - 1, 1 << 53, 1 << 63, 1 << 64, 10**30, 10**4300, 0.5, 1e308, float("inf"), float("nan"), -0.0,
)  # fmt: skip
_OTHERS: tuple[Any, ...] = (None, True, False, "", "x", [], {}, [[]], [None], {"x": 1}, [1, 2, 3])
_CELLS = ("", "-1", "0", "9" * 30, "9" * 5000, str(1 << 53), str((1 << 62) - 1), "1e9", "nan", "0x10", "a", '"')
_TABLE = "id,lower,upper,size\na,0,3,16\nb,1,4,32\nc,2,6,8\nd,5,9,64\n"
_FIXED = "id,lower,upper,size,alignment,gaps,offset\na,0,9,16,4,2-3;5-6,\nb,1,4,32,8,,64\nc,4,6,8,1,,\n"
_REGIONS = """[[region]]
name = "dtcm"
bytes = 65_536
cost = 1

[[region]]
name = "flash"
bytes = 0x100000
cost = 2.5
buffers = false
weights = true
"""
_GATE = """growth = "1%"
[[model]]
path = "m.tflite"
boards = ["rp2040", "board.toml"]
data = "x.npz"
[model.budget]
ram = "4 KiB"
accuracy = 0.9
[model.budget.rp2040]
instructions = 7_000_000
"""
_BOARD = """[[board]]
name = "mine"
aliases = ["ours"]
core = "cortex-m4"
clock_hz = 96_000_000
flash_bytes = 524_288
ram = [{ name = "sram", bytes = 3_000 }, { name = "ccm", bytes = 8_192 }]
"""
_BASELINE = """{"format": 1, "entries": [{"model": "m", "place": "rp2040", "model_sha256": "0", "tools": "k", "options": "o",
"figures": {"ram": 130, "accuracy": 0.5}, "parts": {"code": 3}, "peak": [{"name": "a", "bytes": 3}],
"layers": [{"name": "a", "op": "ADD", "kernel": "k", "instructions": 3, "constant_bytes": 4, "scratch_bytes": 5}]}]}
"""
_C_EVENTS = """#include "kibi_events.h"
#define WIDTH 2 /* of ids */
KIBI_EVENT(CameraReady);
KIBI_ERROR(LineLost, 0x1f2e3d4c);
#if 0
KIBI_EVENT(Never);
#endif
// KIBI_EVENT(Commented)
"""
_PYTHON_EVENTS = """from kibi.eager.events import event, error

CameraReady = event("CameraReady")
LineLost = error("LineLost")
"""


def mutated_json(text: str, rng: np.random.Generator) -> str:
    """A JSON text with one value replaced, removed, repeated or renamed; now and then broken as a text."""
    if rng.random() < 0.2:
        return mutated(text.encode(), rng).decode("utf-8", "surrogateescape")
    record = json.loads(text)
    for _ in range(int(rng.integers(1, 4))):
        record = _changed(record, rng)
    try:
        made = json.dumps(record)
    except ValueError:  # ten to the 4,300th is written by hand
        made = text.replace("0", "9" * 5000, 1)
    return made if rng.random() < 0.95 else _nested(made, rng)


def _nested(text: str, rng: np.random.Generator) -> str:
    depth = int(rng.choice((10, 1000, 100_000)))
    return "[" * depth + text + "]" * depth


def _changed(value: Any, rng: np.random.Generator) -> Any:
    """The value with something in it, however deep, made other."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = list(value)[int(rng.integers(len(value)))]
        if rng.random() < 0.05:
            return {k: v for k, v in value.items() if k != key}
        if rng.random() < 0.05:
            return {**value, hostile_text(rng): value[key]}
        return {**value, key: _changed(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        place = int(rng.integers(len(value)))
        if rng.random() < 0.1:
            return [*value[:place], *value[place + 1 :]]
        if rng.random() < 0.1:
            return [*value[: place + 1], *value[place:]]
        return [*value[:place], _changed(value[place], rng), *value[place + 1 :]]
    if isinstance(value, int) and not isinstance(value, bool) and rng.random() < 0.5:
        return value + int(rng.integers(-3, 4))
    if isinstance(value, str) and rng.random() < 0.5:
        return hostile_text(rng)
    every = (*_NUMBERS, *_OTHERS)
    return every[int(rng.integers(len(every)))]


def mutated_table(rng: np.random.Generator) -> bytes:
    """A table of buffers with cells replaced, rows repeated, or bytes changed."""
    text = (_TABLE, _FIXED)[int(rng.integers(2))]
    if rng.random() < 0.3:
        return mutated(text.encode(), rng)
    rows = [line.split(",") for line in text.splitlines()]
    for _ in range(int(rng.integers(1, 4))):
        row = rows[int(rng.integers(len(rows)))]
        cells = (*_CELLS, hostile_text(rng))
        row[int(rng.integers(len(row)))] = cells[int(rng.integers(len(cells)))]
    if rng.random() < 0.2:
        rows += rows[1:] * int(rng.choice((1, 30)))
    ends = ("\n", "\r\n", "\r", "\n\n")
    made = ends[int(rng.integers(len(ends)))].join(",".join(row) for row in rows)
    starts = (b"", b"", b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\0")
    return starts[int(rng.integers(len(starts)))] + made.encode("utf-8", "surrogatepass")


def mutated_lines(text: str, rng: np.random.Generator) -> bytes:
    """A text with pieces of hostile text in it, or bytes changed."""
    if rng.random() < 0.5:
        return mutated(text.encode(), rng)
    made = text
    for _ in range(int(rng.integers(1, 5))):
        place = int(rng.integers(len(made) + 1))
        made = made[:place] + hostile_text(rng) + made[place + int(rng.integers(0, 8)) :]
    return made.encode("utf-8", "surrogatepass")


def regions_text(rng: np.random.Generator) -> bytes:
    """A file that lists regions."""
    return mutated_lines(_REGIONS, rng)


def gate_file(rng: np.random.Generator) -> tuple[str, bytes]:
    """A file that `kibi check` reads, or one that describes a board: its name and text."""
    name, text = (("kibi.toml", _GATE), ("base.json", _BASELINE), ("board.toml", _BOARD))[int(rng.integers(3))]
    return name, mutated_lines(text, rng)


def sources(rng: np.random.Generator) -> tuple[str, bytes]:
    """A source that declares events: its name and text."""
    name, text = (("events.c", _C_EVENTS), ("events.py", _PYTHON_EVENTS))[int(rng.integers(2))]
    return name, mutated_lines(text, rng)


@cache
def _arrays(folder: Path) -> tuple[bytes, bytes, bytes]:
    """A NumPy array, an archive and an image as files."""
    from PIL import Image  # noqa: PLC0415

    pixels = np.arange(28 * 28, dtype=np.uint8).reshape(28, 28)
    np.save(folder / "seed.npy", pixels.astype(np.int8).reshape(1, 28, 28, 1), allow_pickle=False)
    np.savez_compressed(folder / "seed.npz", image=pixels.astype(np.int8).reshape(1, 28, 28, 1))
    Image.fromarray(pixels).save(folder / "seed.png")
    return tuple((folder / name).read_bytes() for name in ("seed.npy", "seed.npz", "seed.png"))  # type: ignore[return-value]


def input_file(folder: Path, rng: np.random.Generator) -> tuple[str, bytes]:
    """An input of the model that Kibi ships, broken: a name and bytes."""
    kind = int(rng.integers(3))
    return ("x.npy", "x.npz", "x.png")[kind], mutated(_arrays(folder)[kind], rng)


@cache
def _data_files(folder: Path) -> tuple[bytes, ...]:
    """Inputs of the model that Kibi ships in an array, an archive and a sound, and a file that an evaluation goes on from."""
    pixels = np.arange(5 * 28 * 28, dtype=np.int64).reshape(5, 28, 28)
    np.save(folder / "many.npy", pixels.astype(np.uint8), allow_pickle=False)
    np.savez(folder / "many.npz", x=(pixels / 4000).astype(np.float32), y=np.arange(5))
    with wave.open(str(folder / "many.wav"), "wb") as sound:
        sound.setparams((1, 2, 16_000, 0, "NONE", ""))
        sound.writeframes(pixels[0].astype("<i2").tobytes())
    names = ("ended", "labels", "answers", "agrees")
    values = ("margins", "scores", "squares", "dots", "norms", "reference_norms")
    chunk = {"digest": "0", **{name: [1, 0] for name in names}, **{name: [0.5, float("nan")] for name in values}}
    head = {"kibi": "evaluation", "format": 1}
    log = "".join(f"{json.dumps(record)}\n" for record in (head, chunk, chunk)).encode()
    return (*((folder / f"many{suffix}").read_bytes() for suffix in (".npy", ".npz", ".wav")), log)


def data_file(folder: Path, rng: np.random.Generator) -> tuple[str, bytes]:
    """A file of data for an evaluation, broken: its suffix and bytes."""
    kind = int(rng.integers(4))
    return (".npy", ".npz", ".wav", ".log")[kind], mutated(_data_files(folder)[kind], rng)
