"""Deltas make the new file from the old one, in Python and in C; nothing that is no delta does harm."""

import random
import re
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kibi
from kibi.emulator import Core
from kibi.engines.core import written_core
from kibi.errors import PackageError
from kibi.passes import simplify
from kibi.planfile.like import layout_of, written_like
from kibi.planfile.writer import written_file
from kibi.planner import validate
from kibi.targets import target
from kibi.toolchain import Image, build_image, build_program
from kibi.update.delta import decode, encode
from kibi.update.delta.coding import Encoder
from kibi.update.delta.form import Kind, Numbers, folded
from tests.docs.documents import DOCS
from tests.support import zoo
from tests.support.amount import amount

_HERE = Path(__file__).parent
_MUTANTS = amount(4_000, 1_000_000)
_OPTIONS = "abort_on_error=0:halt_on_error=1:detect_leaks=0"
_COMPARED = amount(16, 8)
"""Python decodes one of so many mutants."""
_REFUSED, _INCOMPLETE = -18, 1
_MOST_BYTES = 256
"""Of RAM for a decoder."""
_MOST_CODE = 760
_LAYERS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")


@cache
def _program() -> Path:
    """The decoder in C, with sanitizers."""
    folder = Path(tempfile.mkdtemp())
    written_core(["kibi_add_s8"], target("host"), folder)
    sources = [folder / "kibi_delta.c", _HERE / "delta.c"]
    return build_program(sources, compiler="gcc", level="1", includes=[folder], sanitize=True)


def _in_c(old: bytes, cases: Sequence[tuple[bytes, int, int]]) -> list[tuple[int, bytes]]:
    """The status, and the file if it was made, of each payload.

    Args:
        old: the older file.
        cases: payloads, each with the size of its new file and of a block.
    """
    words = [struct.pack("<I", len(old)), old]
    for payload, new_bytes, block_bytes in cases:
        words += [struct.pack("<III", new_bytes, block_bytes, len(payload)), payload]
    done = subprocess.run(
        [str(_program())], input=b"".join(words), capture_output=True, check=False, timeout=550,
        env={"ASAN_OPTIONS": _OPTIONS},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode(errors="replace")[:4000]
    found, at = [], 0
    for _, new_bytes, _ in cases:
        (status,) = struct.unpack_from("<i", done.stdout, at)
        size = new_bytes if status == 0 else 0
        found.append((status, done.stdout[at + 4 : at + 4 + size]))
        at += 4 + size
    assert at == len(done.stdout)
    return found


def _in_python(old: bytes, payload: bytes, new_bytes: int, block_bytes: int) -> bytes | None:
    try:
        return decode(payload, old, new_bytes, block_bytes)
    except PackageError:
        return None


def _numbers(count: int, rng: random.Random, kind: int) -> tuple[bytes, bytes]:
    """An array, and the same after a change: weights, 16-bit weights, structs with biases, sums of pairs, texts, nothing."""
    if kind == 0:
        before = [rng.randrange(-127, 128) for _ in range(count)]
        after = [x + rng.choice((0, 0, 0, -1, 1, 2)) for x in before]
        return tuple(bytes(x & 255 for x in each) for each in (before, after))  # type: ignore[return-value]
    if kind == 1:
        before = [rng.randrange(-9000, 9000) for _ in range(count)]
        after = [x + rng.choice((0, 0, 40, -70)) for x in before]
    elif kind == 2:
        before = [rng.randrange(-(1 << 30), 1 << 30) if k % 5 < 2 else rng.randrange(256) for k in range(count)]
        after = [x + (rng.randrange(-90, 90) << 7 if k % 5 < 2 else 0) for k, x in enumerate(before)]
    elif kind == 3:
        before = [rng.randrange(1 << 28) for _ in range(count)]
        after = [x + (rng.randrange(-9, 9) << 15) + 127 * rng.randrange(-9, 9) for x in before]
    else:
        return rng.randbytes(count), rng.randbytes(count + rng.randrange(3))
    width = "<h" if kind == 1 else "<i"
    return b"".join(struct.pack(width, x) for x in before), b"".join(struct.pack(width, x) for x in after)


def _pair(seed: int) -> tuple[bytes, bytes]:
    """Two files that have something in common: parts that change, move, come or go."""
    rng = random.Random(seed)
    parts = [_numbers(rng.choice((1, 7, 40, 200, 700)), rng, rng.randrange(5)) for _ in range(rng.randrange(1, 7))]
    order = list(range(len(parts)))
    if rng.random() < 0.3:
        rng.shuffle(order)
    old = b"".join(before for before, _ in parts)
    old = old[: len(old) // 4 * 4]
    new = b"".join(parts[k][1] for k in order if rng.random() < 0.95)
    return old, new[: len(new) // 4 * 4]


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 1 << 32), st.sampled_from([256, 512, 4096, 65536]))
def test_new_file_comes_back(seed: int, block_bytes: int) -> None:
    """In Python; and in C, with losses of power between blocks."""
    old, new = _pair(seed)
    payload = encode(old, new, block_bytes)
    assert decode(payload, old, len(new), block_bytes) == new
    assert _in_c(old, [(payload, len(new), block_bytes)]) == [(0, new)]


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 1 << 32), st.sampled_from([256, 512, 4096]))
def test_blocks_in_place_need_nothing_that_is_overwritten(seed: int, block_bytes: int) -> None:
    """A decoder that has none of these bytes makes the new file; so does one of any delta."""
    old, new = _pair(seed)
    payload = encode(old, new, block_bytes, in_place=True)
    assert decode(payload, old, len(new), block_bytes, in_place=True) == new
    assert _in_c(old, [(payload, len(new), block_bytes)]) == [(0, new)]


def test_in_place_costs_nothing_where_content_stays_or_moves_down() -> None:
    """Where it moves up, the first bytes of each block cannot be copied: they were in the block before."""
    data, more = random.Random(5).randbytes(20_000), random.Random(6).randbytes(300)
    changed = bytes(each ^ (k % 7 == 0) for k, each in enumerate(data))
    for old, new in ((data, changed), (more + data, data), (data + data, data[4000:])):
        assert len(encode(old, new, in_place=True)) <= len(encode(old, new)) + 8
    moved = encode(data, more + data, in_place=True)
    assert 5 * 300 < len(moved) < 5 * 300 * 1.16 + 120
    decode(encode(data, more + data), data, 20_300)
    with pytest.raises(PackageError, match="asks for bytes that the older file lacks"):
        decode(encode(data, more + data), data, 20_300, in_place=True)


@pytest.mark.parametrize("count", [0, 4, 256, 260, 5000])
def test_equal_empty_and_new_files(count: int) -> None:
    """Nothing changes, or nothing is there, or all of it is new."""
    data = random.Random(1).randbytes(count)
    same = encode(data, data)
    assert len(same) <= 8 * (count // 4096 + 1)
    for old, new in ((data, data), (b"", data), (data, b""), (data, data * 3), (data * 3, data)):
        payload = encode(old, new)
        assert decode(payload, old, len(new)) == new
        assert len(payload) <= len(new) * 1.16 + 8


def test_a_new_file_has_words() -> None:
    """Plan files have a multiple of 4 bytes; others have no delta, and the error says so."""
    with pytest.raises(ValueError, match="multiple of 4 bytes"):
        encode(b"", b"12345")


def test_fine_tuned_weights_take_few_bits() -> None:
    """30 % of 8-bit weights change by 1 or 2, as after training further: 1.48 bits a weight say which and by how much."""
    rng = random.Random(3)
    old = bytes(rng.randrange(256) for _ in range(20_000))
    new = bytes((x + (rng.choice((-2, -1, 1, 2)) if rng.random() < 0.3 else 0)) % 256 for x in old)
    assert len(encode(old, new)) < 20_000 * 1.56 / 8


def test_biases_among_weights_and_sums_of_pairs_take_few_bits() -> None:
    """A pattern codes biases apart from 16-bit weights; two numbers stand for a sum of two."""
    rng = random.Random(4)
    words: tuple[list[int], list[int]] = ([], [])
    for _ in range(64):
        for k in range(15):
            value = rng.randrange(1 << 30)
            words[0].append(value)
            words[1].append(value + (rng.randrange(-8, 9) << 7 if k < 2 else rng.choice((0, 0, 0, 1, 65536))))
    packed = [b"".join(struct.pack("<I", each) for each in values) for values in words]
    assert len(encode(packed[0], packed[1])) < 64 * (2 * 6.5 + 13 * 2.1) / 8
    sums, others = _numbers(600, rng, 3)
    assert len(encode(sums, others)) < 600 * 11.5 / 8


def test_content_that_moves_is_copied() -> None:
    """A part that is put in before all others costs itself, and little more."""
    data, more = random.Random(5).randbytes(20_000), random.Random(6).randbytes(300)
    assert len(encode(data, more + data)) < 300 + 120
    assert len(encode(more + data, data)) < 120


def _payload(*numbers: tuple[int, int]) -> bytes:
    """A block by hand: numbers of commands, each with its class."""
    to = Encoder()
    for value, kind in numbers:
        to.number(Numbers.COMMAND, value, kind)
    return to.end()


@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param([(3 << 5, 0), (Kind.SAME, 1)], id="a word after the older file"),
        pytest.param([(0, 0), (folded(-1) << 1, 1), (3 << 5, 0), (Kind.SAME, 1)], id="a word before it"),
        pytest.param([(4 << 5, 0), (Kind.SAME, 1)], id="more words than the block has"),
        pytest.param([(3 << 5, 0), (6, 1)], id="a kind that is none"),
    ],
)
def test_what_cannot_be_is_refused(numbers: list[tuple[int, int]]) -> None:
    """In Python, with an error, and in C, with a status."""
    old, payload = b"01234567", _payload(*numbers)
    with pytest.raises(PackageError, match="Get it again"):
        decode(payload, old, 12, 256)
    assert _in_c(old, [(payload, 12, 256)])[0][0] == _REFUSED


def _mutants(payload: bytes, rng: random.Random, count: int) -> list[bytes]:
    found = []
    for _ in range(count):
        data = bytearray(payload)
        for _ in range(rng.choice((1, 1, 2, 5))):
            place = rng.randrange(len(data)) if rng.random() < 0.6 else rng.randrange(min(24, len(data)))
            data[place] = rng.choice((data[place] ^ 1 << rng.randrange(8), rng.randrange(256), 255, 0))
        cut = rng.random()
        found.append(
            bytes(data[: rng.randrange(len(data))] if cut < 0.1 else data + rng.randbytes(3) if cut < 0.15 else data)
        )
    return found


@pytest.mark.timeout(3000)
def test_mutants_do_no_harm_and_have_pythons_verdict() -> None:
    """Under sanitizers: each is refused, or makes a file; where Python decodes one, too, it makes the same."""
    rng, counts = random.Random(7), {_REFUSED: 0, _INCOMPLETE: 0, 0: 0}
    pairs = [_pair(seed) for seed in range(1, 90)]
    kept = [(old, new) for old, new in pairs if 40 < len(new) < 2000][:20]
    for old, new in kept:
        payload = encode(old, new, 512)
        made = [(each, len(new), 512) for each in _mutants(payload, rng, _MUTANTS // len(kept))]
        for number, ((each, _, _), (status, file)) in enumerate(zip(made, _in_c(old, made), strict=True)):
            counts[status] += 1
            if number % _COMPARED == 0:
                assert _in_python(old, each, len(new), 512) == (file if status == 0 else None)
    assert min(counts.values()) > _MUTANTS // 200, counts


_PROBE = """\
#include "kibi_delta.h"
uint32_t delta_bytes(void);
uint32_t delta_bytes(void) { return sizeof(kibi_delta); }
int run(const uint8_t *base, const uint8_t *payload, uint8_t *made, const uint32_t *bytes);
int run(const uint8_t *base, const uint8_t *payload, uint8_t *made, const uint32_t *bytes)
{
    const uint8_t *const end = payload + bytes[1];
    uint32_t done = 0;
    kibi_delta delta;
    kibi_delta_begin(&delta, base, bytes[0], bytes[2], 4096, 0);
    while (done != bytes[2]) {
        const int byte = kibi_delta_next(&delta);
        if (byte >= 0) {
            made[done++] = (uint8_t)byte;
        } else if (byte == KIBI_DELTA_WRONG || payload == end) {
            return 1;
        } else {
            delta.given = *payload++ | 256u;
        }
    }
    return payload != end;
}
"""


def _probe(folder: Path) -> Image:
    """The decoder for a Cortex-M4."""
    written_core(["kibi_add_s8"], kibi.target("cortex-m4"), folder)
    probe = folder / "probe.c"
    probe.write_text(_PROBE)
    return build_image(
        [folder / "kibi_delta.c", probe], kibi.target("cortex-m4"), entries=["delta_bytes", "run"],
        compiler="zig", level="s", includes=[folder],
    )  # fmt: skip


def test_decoder_is_small(tmp_path: Path) -> None:
    """Its state and its code on a Cortex-M4."""
    image = _probe(tmp_path)
    code = sum(
        end - first for first, end, name in image.functions if "mem" not in name and name not in {"delta_bytes", "run"}
    )
    found = Core(image, kibi.target("cortex-m4")).call("delta_bytes").value
    assert found <= _MOST_BYTES
    assert f"has {found} bytes of RAM (`kibi_delta.h`)" in (DOCS / "field-updates.md").read_text("utf-8")
    assert code <= _MOST_CODE, code


def _instructions(old: bytes, payload: bytes, new: bytes, folder: Path) -> int:
    """What decoding takes on a Cortex-M4, to three places."""
    core = Core(_probe(folder), kibi.target("cortex-m4"))
    sizes = struct.pack("<III", len(old), len(payload), len(new))
    blocks = [
        core.allocate(name, max(len(each), 4)) for name, each in zip("opns", (old, payload, new, sizes), strict=True)
    ]
    for block, data in zip(blocks, (old, payload, b"", sizes), strict=True):
        core.write(block, data)
    done = core.call("run", *blocks)
    assert done.value == 0
    assert core.read(blocks[2], len(new)) == new
    return round(done.instructions, 3 - len(str(done.instructions)))


_ROW = re.compile(r"^\| (-2[^|]*) \| ([\d,]+) \| ([\d,]+) \|$", re.MULTILINE)


@pytest.mark.slow
@zoo.requires_zoo
def test_deltas_of_key_words_are_those_of_the_page(tmp_path: Path) -> None:
    """Weights of the model change in 30 of 100 cases; the layout stays."""
    told = {row[1]: (row[2], row[3]) for row in _ROW.finditer((DOCS / "field-updates.md").read_text("utf-8"))}
    graph = kibi.load(zoo.catalog()["mlperf_kws_int8"].path)
    simplified = simplify(graph)
    planned = validate(simplified.graph, kibi.plan(simplified.graph, target="cortex-m4"))
    file = written_file(planned)
    layout = layout_of(planned, simplified, file)
    filters = {view.node.inputs[1] for view in graph.views if view.op.name in _LAYERS}
    listed = sorted(index for index in filters if index is not None)
    choices = {"-2, -1, 0, 1 or 2": (-2, -1, 0, 1, 2), "-2, -1, 1 or 2": (-2, -1, 1, 2), "-2 or 2": (-2, 2)}
    found = {}
    for name, values in choices.items():
        drawn, tensors = np.random.default_rng(0), list(graph.tensors)
        for index in listed:
            data = np.asarray(tensors[index].data, np.int16)
            moved = np.where(drawn.random(data.shape) < 0.3, drawn.choice(values, data.shape), 0)
            tensors[index] = replace(tensors[index], data=np.clip(data + moved, -127, 127).astype(np.int8))
        made = written_like(replace(graph, tensors=tuple(tensors)), layout)
        assert made.departures == ()
        payload = encode(file.data, made.data)
        found[name] = (f"{len(payload):,}", f"{_instructions(file.data, payload, made.data, tmp_path):,}")
    assert found == told
