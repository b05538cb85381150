"""Functions in programs for Linux and in WebAssembly modules: values, memory, the stack, limits, and what is forbidden."""

import gc
import struct
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from kibi.engines.ways import ways_of
from kibi.errors import EmulationError, ToolchainError
from kibi.programs import linux, wasm
from kibi.targets import target
from tests.programs.tools import TARGETS, requires

_SOURCE = Path(__file__).parent / "hostile.c"
_ENTRIES = ("sum", "put", "spin", "deep", "take_four", "same")
_LINUX = tuple(name for name in TARGETS if name.endswith("-linux"))
_LABELS: Mapping[str, str] = MappingProxyType({"sum": "a sum", "put": "a put"})


def _program(name: str) -> Any:
    requires(name)
    build, make = ways_of(target(name))
    image = build([_SOURCE], target(name), entries=_ENTRIES, compiler="zig", level="s", includes=[])
    return make(image, target(name))


@pytest.mark.parametrize("name", TARGETS)
def test_functions_are_called_with_memory(name: str) -> None:
    """Arguments and results pass as they are; memory is what was written; counts grow with the work."""
    core = _program(name)
    block = core.allocate("bytes", 100, alignment=4, is_exact=True)
    assert block % 4 == 0
    assert block % 8 == 4
    core.write(block, bytes(range(100)))
    assert core.call("take_four", 5, -1, 7, 11).signed_value == 5 + 2 + 21 - 44
    assert core.call("same", block).value == block
    few, many = (core.call("sum", block, count, operators=_LABELS) for count in (10, 100))
    assert (few.value, many.value) == (45, 4950)
    assert 0 < few.instructions < many.instructions
    core.call("put", block, 99, 7)
    assert core.read(block, 100) == bytes([*range(99), 7])
    if name in _LINUX:
        assert many.by_operator == {"": 0, "a sum": many.instructions, "a put": 0}


@pytest.mark.parametrize("name", TARGETS)
def test_stack_is_what_was_written_last(name: str) -> None:
    """A call has the stack of its own depth, whatever earlier ones took; too deep a call is an error."""
    core = _program(name)
    depths = [core.call("deep", depth, 5).stack_bytes for depth in (1, 9, 1)]
    assert depths[0] == depths[2]
    assert 8 * 4096 <= depths[1] - depths[0] < 8 * 4300
    with pytest.raises(EmulationError, match=r"SIGSEGV|trapped"):
        core.call("deep", 1000, 5)


@pytest.mark.parametrize("name", TARGETS)
def test_endless_loop_reaches_the_limit(name: str) -> None:
    """A function without an end is stopped, and the error says after what."""
    with pytest.raises(EmulationError, match="no end after"):
        _program(name).call("spin", instruction_limit=1_000_000)


@pytest.mark.parametrize("name", TARGETS)
def test_writing_beside_a_block_is_an_error(name: str) -> None:
    """The byte before a block, and far outside of all."""
    core = _program(name)
    block = core.allocate("bytes", 100)
    with pytest.raises(EmulationError, match=r"forbidden write beside bytes at .* in put\(\)"):
        core.call("put", block, -1, 1)
    core = _program(name)
    block = core.allocate("bytes", 64, alignment=16)
    with pytest.raises(EmulationError, match=r"SIGSEGV|trapped: out of bounds memory access|beside bytes"):
        core.call("put", block, 1 << 30, 1)


@pytest.mark.parametrize("name", _LINUX)
def test_reading_after_a_block_ends_the_program(name: str) -> None:
    """A block ends where its pages do, or a vector before; after the end, the program says that it has ended, again and again."""
    core = _program(name)
    block = core.allocate("bytes", 64)
    assert core.call("sum", block, 64).value == 64 * 0xA5
    spare = 32 if name == "x86_64-linux" else 0
    for _ in range(2):
        with pytest.raises(EmulationError, match=rf"program for {name} ended by SIGSEGV.*in sum\(\)"):
            core.call("sum", block, 65 + spare)


def test_masked_load_at_the_end_of_a_block_is_allowed(tmp_path: Path) -> None:
    """Compilers end loops over floats with them; the processor reads what the mask selects, and QEMU the whole vector."""
    requires("x86_64-linux")
    source = tmp_path / "masked.c"
    source.write_text(
        """
#include <immintrin.h>
int last(const float *from);
int last(const float *from)
{
    const __m256i mask = _mm256_setr_epi32(-1, -1, 0, 0, 0, 0, 0, 0);
    return (int)_mm256_cvtss_f32(_mm256_permutevar8x32_ps(_mm256_maskload_ps(from, mask), _mm256_set1_epi32(1)));
}
""",
        encoding="utf-8",
    )
    build, make = ways_of(target("x86_64-linux"))
    core = make(
        build([source], target("x86_64-linux"), entries=["last"], compiler="zig", level="s", includes=[]),
        target("x86_64-linux"),
    )
    block = core.allocate("floats", 8, alignment=4)
    core.write(block, struct.pack("<2f", 3.0, 7.0))
    assert core.call("last", block).value == 7
    assert core.read(block - 4, 4) == core.read(block + 8, 4) == bytes([0xA5]) * 4


def test_module_gets_no_more_memory_than_the_limit() -> None:
    """A block that does not fit is an error, and the module goes on."""
    core = _program("wasm32")
    with pytest.raises(EmulationError, match="no memory of 2,147,483,648 bytes for much: a module gets"):
        core.allocate("much", 1 << 31)
    assert core.call("take_four", 1, 0, 0, 0).value == 1
    with pytest.raises(EmulationError, match="outside of linear memory"):
        core.read(core.memory_bytes - 1, 2)


def test_unit_of_fuel_is_about_one_instruction() -> None:
    """What wasmtime counts: one for each instruction that computes, loads, calls or branches, and for a function's begin."""
    wasmtime = pytest.importorskip("wasmtime")
    assert _fuel(wasmtime, "") == 1
    assert _fuel(wasmtime, "(drop (i32.add (i32.const 1) (i32.const 2)))") == 1 + 3
    assert _fuel(wasmtime, "(i32.store (i32.const 0) (i32.load (i32.const 8)))") == 1 + 4
    assert _fuel(wasmtime, "(block (loop nop))") == 1
    assert _fuel(wasmtime, "(call 0)", "(func)") == 1 + 1 + 1


def _fuel(wasmtime: Any, body: str, before: str = "") -> int:
    config = wasmtime.Config()
    config.consume_fuel = True
    store = wasmtime.Store(wasmtime.Engine(config))
    store.set_fuel(1000)
    text = f'(module (memory 1) {before} (func (export "f") {body}))'
    module = wasmtime.Module(store.engine, wasmtime.wat2wasm(text))
    wasmtime.Instance(store, module, []).exports(store)["f"](store)
    return 1000 - int(store.get_fuel())


def test_missing_runtime_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where wasmtime is not installed, the error says what to install."""
    monkeypatch.setattr(wasm, "import_module", _no_module)
    build, make = ways_of(target("wasm32"))
    image = build([_SOURCE], target("wasm32"), entries=_ENTRIES, compiler="zig", level="s", includes=[])
    with pytest.raises(ToolchainError, match=r"pip install 'kibi\[wasm\]'"):
        make(image, target("wasm32"))


def _no_module(name: str) -> None:
    raise ImportError(name)


def test_missing_qemu_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where QEMU is not installed, the error names its command and Debian's package; a machine of that kind needs none."""
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr("sys.platform", "linux")
    assert linux.qemu_for(target("x86_64-linux")) is None
    with pytest.raises(
        ToolchainError, match=r"qemu-arm is not on PATH. Install it, for example by `apt install qemu-user`"
    ):
        linux.qemu_for(target("armv7-linux"))


def test_qemu_without_plugins_runs_programs_uncounted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A plugin that QEMU refuses is left out: the values are the same, and nothing is counted."""
    requires("aarch64-linux")
    broken = tmp_path / "entry" / "library.so"
    monkeypatch.setattr(linux, "_plugin", lambda _: broken)
    monkeypatch.setattr(linux, "checked_copy", lambda path: _Copy(path, tmp_path))
    core = _program("aarch64-linux")
    found = core.call("take_four", 1, 0, 0, 0)
    assert (found.value, found.instructions, core.counted) == (1, 0, "")


class _Copy:
    """What `checked_copy` gives; of a file that does not exist a file that is no plugin."""

    def __init__(self, path: Path, folder: Path) -> None:
        self._path, self._data = folder / path.name, path.read_bytes() if path.exists() else b"no plugin"

    def __enter__(self) -> Path:
        self._path.write_bytes(self._data)
        return self._path

    def __exit__(self, *error: object) -> None:
        pass


def test_program_that_is_dropped_ends() -> None:
    """Neither its process nor its pipes stay."""
    requires("aarch64-linux")
    files = len(list(Path("/proc/self/fd").iterdir()))
    core = _program("aarch64-linux")
    process = core._process
    assert process.poll() is None
    del core
    gc.collect()
    assert process.poll() is not None
    assert len(list(Path("/proc/self/fd").iterdir())) == files
