"""`kibi measure`, `verify` and `targets` for Linux and WebAssembly."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Kibi
from tests.programs.tools import TARGETS, requires
from tests.support.amount import sample


@pytest.mark.slow
def test_measure_of_webassembly_counts_fuel(kibi: Kibi, glyphs: Path) -> None:
    """What is counted is called by its name, is not told by operator, and the module's memory is there."""
    requires("wasm32-simd128")
    record = kibi("measure", glyphs, "--target", "wasm32-simd128", "--json").record
    done = kibi("measure", glyphs, "--target", "wasm32-simd128")
    assert (record["counter"], record["bit_exact"]) == ("fuel", True)
    assert record["linear_memory_bytes"] % 65536 == 0
    assert record["calls_instructions"] == record["instructions"] > record["macs"]
    assert f"fuel           {record['instructions']:,} for" in done.out
    assert f"linear memory  {record['linear_memory_bytes']:,} bytes" in done.out
    assert "instructions" not in done.out
    assert "CONV_2D" not in done.out


def test_measure_of_linux_counts_each_operator(kibi: Kibi, glyphs: Path) -> None:
    """Instructions by operator add up, and the stack is there."""
    requires("aarch64-linux")
    record = kibi("measure", glyphs, "--target", "aarch64-linux", "--json").record
    assert (record["counter"], record["bit_exact"], record["linear_memory_bytes"]) == ("instructions", True, None)
    counted = [cost["instructions"] for cost in record["ops"]]
    assert min(counted) > 0
    assert sum(counted) + record["calls_instructions"] == record["instructions"]
    assert record["flash_bytes"] == record["code_bytes"] + record["weights_bytes"]
    assert 0 < record["plan_table_bytes"] < record["code_bytes"]


def test_measure_without_a_counter_says_so(kibi: Kibi, glyphs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where QEMU takes no plugin, memory is measured, and no count is made up."""
    requires("aarch64-linux")
    monkeypatch.setattr("kibi.programs.linux._plugin", lambda _: None)
    record = kibi("measure", glyphs, "--target", "aarch64-linux", "--json").record
    done = kibi("measure", glyphs, "--target", "aarch64-linux")
    assert (record["counter"], record["instructions"], record["bit_exact"]) == ("", 0, True)
    assert "instructions  not counted: QEMU is not installed, or takes no plugins" in done.out
    assert "CONV_2D" not in done.out


@pytest.mark.parametrize("name", sample([(name,) for name in TARGETS], [("wasm32",), ("aarch64-linux",)]))
def test_verify_runs_the_target(kibi: Kibi, glyphs: Path, name: str) -> None:
    """The target is among the engines that are compared."""
    requires(name)
    record = kibi("verify", glyphs, "--target", name, "--runs", "1", "--json").record
    assert record["bit_exact"]
    assert name in record["engines"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("measure", "--tune"), "--tune needs an emulated core, which wasm32 is not. Leave it out"),
        (("measure", "--format", "plan"), "--format plan needs an emulated core, which wasm32 is not"),
        (("measure", "--checkpoints"), "--checkpoints needs an emulated core, which wasm32 is not"),
        (("verify", "--format", "plan"), "--format plan needs an emulated core, which wasm32 is not"),
        (("measure", "--compiler", "gcc"), "gcc does not support the target wasm32. Use zig."),
        (("measure", "--compiler", "clang"), "clang does not support the target wasm32. Use zig."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_needs_an_emulated_core_is_refused(kibi: Kibi, glyphs: Path, options: tuple[str, ...], text: str) -> None:
    """The error names the option and what to do."""
    verb, *rest = options
    done = kibi(verb, glyphs, "--target", "wasm32", *rest)
    assert done.code in (6, 7)
    assert text in done.err


def test_missing_qemu_ends_with_what_to_install(kibi: Kibi, glyphs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is half-reported."""
    monkeypatch.setattr("kibi.programs.linux.shutil.which", lambda _: None)
    done = kibi("measure", glyphs, "--target", "riscv64-linux")
    assert (done.code, done.out) == (7, "")
    assert "qemu-riscv64 is not on PATH. Install it, for example by `apt install qemu-user`." in done.err


def test_targets_say_what_runs_them(kibi: Kibi) -> None:
    """Each target has its runner, in text and as JSON."""
    record = kibi("targets", "--json").record
    runners = {each["name"]: each["runner"] for each in record["targets"]}
    assert {runners[name] for name in TARGETS} == {"qemu-user", "wasmtime"}
    assert json.dumps(runners["generic"]) == '""'
    lines = kibi("targets").out.splitlines()
    assert any(line.startswith("wasm32 ") and "wasmtime" in line for line in lines)


def test_compile_writes_c_for_webassembly(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """The library names its target, and has the kernels for vectors."""
    done = kibi("compile", glyphs, "--output", tmp_path / "out", "--target", "wasm32-simd128")
    assert done.code == 0
    assert (tmp_path / "out" / "kernels" / "kibi_lanes.h").is_file()
    assert "wasm32-simd128" in (tmp_path / "out" / "glyphs.h").read_text(encoding="utf-8")
