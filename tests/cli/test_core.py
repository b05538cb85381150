"""`kibi core` and `kibi compile --format plan`: cores, the files for them, and what goes wrong between both."""

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

import kibi as library
from kibi.runtime import seeded_inputs
from tests.cli.conftest import Kibi
from tests.support.amount import sample


@pytest.fixture
def core(kibi: Kibi, glyphs: Path, tmp_path: Path) -> Path:
    """The folder of a core for the shipped model on the M4."""
    assert kibi("core", glyphs, "-o", tmp_path / "core").code == 0
    return tmp_path / "core"


def test_core_lists_its_kernels_and_files(core: Path) -> None:
    """`core.json` says what the core can run, and what was written."""
    record = json.loads((core / "core.json").read_text())
    assert record["target"] == "cortex-m4"
    ids = [each["id"] for each in record["kernels"]]
    assert ids == sorted(set(ids))
    assert "kibi_conv2d_s8_blocks" in {each["name"] for each in record["kernels"]}
    for name, digest in record["files"].items():
        assert hashlib.sha256((core / name).read_bytes()).hexdigest() == digest


def test_example_of_a_core_runs_a_file(kibi: Kibi, glyphs: Path, core: Path, tmp_path: Path) -> None:
    """The example is built by cmake, opens the file with all checks, and prints the bytes that Python gives for zeros."""
    assert kibi("compile", glyphs, "--format", "plan", "--core", core, "-o", tmp_path / "g.kibi").code == 0
    build = tmp_path / "build"
    for command in (["cmake", "-S", str(core), "-B", str(build)], ["cmake", "--build", str(build)]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run(
        [build / "kibi_core_example", tmp_path / "g.kibi"], capture_output=True, text=True, check=True
    )
    model = library.simplify(library.load(glyphs))
    zeros = [0 * each for each in seeded_inputs(model, 0)]
    expected = library.run(model, library.plan(model), zeros)[0]
    assert bytes.fromhex(done.stdout) == expected.tobytes()


def test_file_is_the_same_twice_and_opens(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """The same input gives the same bytes, and the record says what is in the file."""
    found = kibi("compile", glyphs, "--format", "plan", "-o", tmp_path / "a.kibi", "--json").record
    kibi("compile", glyphs, "--format", "plan", "-o", tmp_path / "b.kibi")
    data = (tmp_path / "a.kibi").read_bytes()
    assert data == (tmp_path / "b.kibi").read_bytes()
    opened = library.open_plan(tmp_path / "a.kibi")
    assert (found["bytes"], found["arena_bytes"]) == (len(data), opened.file.arena_bytes)
    assert tuple(found["kernels"]) == opened.file.kernels


def test_core_says_which_parts_of_kernels_it_leaves_out(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """On the screen, and in the JSON, which core.json agrees with."""
    made = kibi("core", glyphs, "-o", str(tmp_path / "core"), "--json").record
    assert made["without"] == json.loads((tmp_path / "core" / "core.json").read_text(encoding="utf-8"))["without"]
    assert "KIBI_CONV2D_BLOCKS_OF_ODD_CHANNELS" in made["without"]
    assert "conv2d_blocks_of_odd_channels" in kibi("core", glyphs, "-o", str(tmp_path / "core")).out
    whole = kibi("core", "--kernels", "conv2d_s8_blocks", "-o", str(tmp_path / "whole"), "--json").record
    assert whole["without"] == []


def test_core_without_special_kernels_gets_general_ones(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """A core for the general kernels of convolutional networks takes a model whose plan would have special ones."""
    names = [
        "conv2d_s8",
        "depthwise_conv2d_s8",
        "fully_connected_s8",
        "add_s8",
        "max_pool2d_s8",
        "mean_s8",
        "softmax_s8",
    ]
    words = [word for name in names for word in ("--kernels", name)]
    assert kibi("core", "-o", tmp_path / "core", *words).code == 0
    made = kibi("compile", glyphs, "--format", "plan", "--core", tmp_path / "core", "-o", tmp_path / "g.kibi", "--json")
    assert {f"kibi_{name}" for name in names} == set(made.record["kernels"])


def test_missing_kernels_are_listed_with_their_operators(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """Whoever lacks kernels reads which, for which operators, and what to do."""
    kibi("core", "-o", tmp_path / "core", "--kernels", "table_s8")
    done = kibi("compile", glyphs, "--format", "plan", "--core", tmp_path / "core", "-o", tmp_path / "g.kibi")
    assert done.code == 6
    assert "kibi_softmax_s8, for operator 13 (SOFTMAX)" in done.err
    assert "kibi core MODEL" in done.err
    assert not (tmp_path / "g.kibi").exists()


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["compile", "GLYPHS", "--format", "elf", "-o", "x"], 4, "unknown format 'elf'. Formats are: c, plan."),
        (["compile", "GLYPHS", "--core", "core.json", "-o", "x"], 4, "--core is for plan files"),
        (["compile", "GLYPHS", "GLYPHS", "--format", "plan", "-o", "x"], 4, "a plan file holds one model"),
        (
            ["compile", "GLYPHS", "--format", "plan", "--core", "absent", "-o", "x"],
            4,
            "core.json that `kibi core` wrote",
        ),
        (["compile", "GLYPHS", "--format", "plan", "--core", "GLYPHS", "-o", "x"], 4, "it is no text file"),
        (["core", "-o", "x"], 4, "a core needs kernels"),
        (["core", "-o", "x", "--kernels", "conv9d"], 4, "there is no list of kernels, called 'conv9d'"),
        (["core", "-o", "x", "--kernels", "add_s8_lanes"], 4, "has no kernel"),
    ],
)
def test_mistake_is_explained(
    kibi: Kibi, glyphs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], code: int, text: str
) -> None:
    """Each mistake ends in its exit code and a text that says what to do; nothing is written."""
    monkeypatch.chdir(tmp_path)
    done = kibi(*(str(glyphs) if word == "GLYPHS" else word for word in words))
    assert done.code == code, done.err
    assert text in " ".join(done.err.split())
    assert not (tmp_path / "x").exists()


@pytest.mark.share(3, part=1)
@pytest.mark.parametrize(
    ("change", "text"),
    sample(
        [
            ({"target": "cortex-m33"}, "the core is for cortex-m33"),
            ({"version": 1}, "of another version of Kibi (format 1)"),
            ({"kernels": [{"name": "kibi_table_s8", "id": 5}]}, "of another version of Kibi (kibi_table_s8)"),
            ({"kernels": [{"name": "kibi_table_s8", "id": "5"}]}, "lists no core's kernels"),
            ({"kernels": 5}, "lists no core's kernels"),
        ]
    ),
)
def test_list_of_another_core_is_refused(
    kibi: Kibi, glyphs: Path, core: Path, tmp_path: Path, change: dict[str, object], text: str
) -> None:
    """What `core.json` says is read by its types, and compared with what this version has."""
    record = json.loads((core / "core.json").read_text())
    (core / "core.json").write_text(json.dumps({**record, **change}))
    done = kibi("compile", glyphs, "--format", "plan", "--core", core / "core.json", "-o", tmp_path / "g.kibi")
    assert done.code in (4, 6)
    assert text in " ".join(done.err.split())


def test_measure_and_verify_take_plan_files(kibi: Kibi, glyphs: Path) -> None:
    """The figures are those of a core on the emulated processor, and the bits are the same."""
    found = kibi("measure", glyphs, "--format", "plan", "--json").record
    generated = kibi("measure", glyphs, "--no-oracle", "--json").record
    assert found["bit_exact"]
    assert found["arena_bytes"] == generated["arena_bytes"]
    assert {each["op"] for each in found["ops"]} >= {"conv2d_s8_blocks", "softmax_s8"}
    verified = kibi("verify", glyphs, "--format", "plan", "--runs", "2", "--no-oracle", "--json").record
    assert verified["bit_exact"]
    assert {"plan file in host C", "plan file on cortex-m4"} <= set(verified["engines"])
