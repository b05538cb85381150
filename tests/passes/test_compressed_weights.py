"""Look-up tables and int4 for weights: kept where they save flash, decoded elsewhere, and the bits are always the same."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array, DType
from kibi.engines import DeviceEngine, HostEngine
from kibi.frontends.text import parse_text
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph
from kibi.passes.compressed_weights import compressed_where_it_saves, decompressed
from tests.passes.comparison import assert_becomes
from tests.support import zoo
from tests.support.compressed_models import codebook_in_use, int4_network

_FEW = np.array([-127, -3, 0, 50, 127], np.int8)


def _network(depth: int, *, per_channel: bool = False, channels: int = 64, other: str = "") -> bytes:
    """A convolution over rows, and a classifier; both filters behind tables; another operator may read the second one."""
    b, rng = ModelBuilder(), np.random.default_rng(depth)
    x = b.input([1, 3, 3, depth], DType.S8, 0.5, 3, name="x")
    scales = [0.01 * (1 + k) for k in range(channels)] if per_channel else [0.01]
    weights = codebook_in_use(b, rng.choice(_FEW, (channels, 3, 3, depth)), scales)
    y = b.tensor([1, 1, 1, channels], DType.S8, 4.0, -5)
    b.operator("CONV_2D", [x, weights], [y], padding="VALID", stride_h=1, stride_w=1)
    matrix = codebook_in_use(b, rng.choice(_FEW, (64, channels)), [0.02])
    z = b.tensor([1, 64], DType.S8, 20.0, 0)
    b.operator("FULLY_CONNECTED", [y, matrix], [z])
    outputs = [z]
    if other:
        outputs.append(b.tensor([64, channels], DType.S8, 0.02, 0))
        b.operator(other, [matrix], [outputs[-1]])
    return b.finish(outputs)


def _kernels(graph: Graph) -> list[str]:
    return [view.op.kernel_call(view).kernel for view in graph.views]


def _inputs(graph: Graph) -> list[Array]:
    kind = graph.tensors[graph.inputs[0]].type
    return [np.random.default_rng(7).integers(-128, 128, kind.shape).astype(np.int8)]


def test_codebooks_of_large_layers_stay_and_of_small_ones_go() -> None:
    """Where all layers of a kernel save less than its code takes, their weights are decoded."""
    large, small = (compressed_where_it_saves(parse_tflite(_network(depth), "m.tflite")) for depth in (16, 1))
    assert _kernels(large) == ["kibi_conv2d_s8_codebook", "kibi_fully_connected_s8_codebook"]
    assert _kernels(small) == ["kibi_conv2d_s8", "kibi_fully_connected_s8_codebook"]
    assert compressed_where_it_saves(small).tensors == small.tensors


def test_codebooks_of_a_small_layer_are_decoded() -> None:
    """The codebook goes, the weights stay, and a graph without codebooks is returned as it is."""
    before = parse_text("""
    graph "net" from "text" (%0) -> (%2) {
      %0 "x": s8[1, 4] (scale 0.5, zero 3)
      %1 "filter": s8[2, 4] (scale 0.125, zero 0)
        codebook (bits 2, indices u8[2] [69, 129], tables s8[1, 3] [-6, 5, 7]) = [5, -6, 5, 5, 7, -6, -6, 5]
      %2 "y": s8[1, 2] (scale 1.0, zero 2) = FULLY_CONNECTED #0 (input %0, filter %1)
    }
    """)
    after = """
    graph "net" from "text" (%0) -> (%2) {
      %0 "x": s8[1, 4] (scale 0.5, zero 3)
      %1 "filter": s8[2, 4] (scale 0.125, zero 0) = [5, -6, 5, 5, 7, -6, -6, 5]
      %2 "y": s8[1, 2] (scale 1.0, zero 2) = FULLY_CONNECTED #0 (input %0, filter %1)
    }
    """
    decoded = compressed_where_it_saves(before)
    assert_becomes(before, decoded, after)
    assert_becomes(before, decompressed(before), after)
    assert compressed_where_it_saves(decoded) is decoded


def test_codebooks_stay_away_where_weights_are_needed_decoded_too() -> None:
    """One constant is not stored twice: another operator that reads it has its elements."""
    graph = parse_tflite(_network(16, other="RELU"), "m.tflite")
    assert _kernels(compressed_where_it_saves(graph))[:2] == ["kibi_conv2d_s8_codebook", "kibi_fully_connected_s8"]


def test_weights_that_a_pass_changes_are_looked_up_no_more() -> None:
    """The table stands for the file's elements alone."""
    graph = parse_tflite(_network(16), "m.tflite")
    index = next(tensor.index for tensor in graph.tensors if tensor.codebook is not None)
    tensor = graph.tensors[index]
    assert tensor.codebook_in_use is not None
    assert tensor.data is not None
    changed = replace(tensor, data=tensor.data.copy())
    assert changed.codebook_in_use is None
    tensors = (*graph.tensors[:index], changed, *graph.tensors[index + 1 :])
    assert _kernels(replace(graph, tensors=tensors))[0] == "kibi_conv2d_s8"


@pytest.mark.parametrize("per_channel", [pytest.param(False, marks=pytest.mark.slow), True])
def test_codebooks_and_decoded_weights_give_the_same_bits(per_channel: bool, tmp_path: Path) -> None:
    """In Python, in C on this machine, and on the emulated cores; with less flash."""
    graph = parse_tflite(_network(16, per_channel=per_channel, channels=10), "m.tflite")
    expected = kibi.run(decompressed(graph), None, _inputs(graph))[0].tolist()
    assert kibi.run(graph, None, _inputs(graph))[0].tolist() == expected
    for core in ("cortex-m0plus", "cortex-m4"):
        for granularity in ("row", "tensor"):
            plan = kibi.plan(graph, core, granularity=granularity)
            library = kibi.compile(graph, plan, tmp_path / core / granularity)
            assert DeviceEngine(library).run(_inputs(graph))[0].tolist() == expected
    assert HostEngine(library).run(_inputs(graph))[0].tolist() == expected


def test_weights_of_int4_stay_where_they_save_flash() -> None:
    """A small layer is unpacked ahead of time, and so is a grouped one, whose kernel has no form for them."""
    large, small, grouped = (
        compressed_where_it_saves(parse_tflite(int4_network(*sizes), "m.tflite"))
        for sizes in ((32, 12), (2, 12), (64, 12, 2))
    )
    by_rows = "kibi_fully_connected_s8_int4_accumulate"
    assert _kernels(large) == ["kibi_conv2d_s8_int4", by_rows]
    assert _kernels(small) == _kernels(grouped) == ["kibi_conv2d_s8", by_rows]
    assert _kernels(decompressed(large)) == ["kibi_conv2d_s8", "kibi_fully_connected_s8_accumulate"]
    assert [tensor.is_int4 for tensor in small.tensors].count(True) == 1
    assert compressed_where_it_saves(small).tensors == small.tensors


def test_weights_that_a_pass_makes_wider_are_of_int4_no_more() -> None:
    """A kernel of int4 is for -8 … 7 alone, whatever the file had."""
    graph = parse_tflite(int4_network(32), "m.tflite")
    tensor = next(tensor for tensor in graph.tensors if tensor.is_int4)
    assert tensor.data is not None
    for low, high, kernel in ((-8, 7, "kibi_conv2d_s8_int4"), (-8, 8, "kibi_conv2d_s8"), (-9, 7, "kibi_conv2d_s8")):
        wider = replace(tensor, data=np.clip(2 * tensor.data.astype(np.int8), low, high).astype(np.int8))
        tensors = tuple(wider if each is tensor else each for each in graph.tensors)
        assert _kernels(replace(graph, tensors=tensors))[0] == kernel


def test_weights_of_int4_and_unpacked_ones_give_the_same_bits(tmp_path: Path) -> None:
    """In Python, in C on this machine, and on the emulated cores; with less flash."""
    path = tmp_path / "m.tflite"
    path.write_bytes(int4_network(32, 12))
    unpacked, packed = (kibi.load(path, decompress=decompress) for decompress in (True, False))
    expected = kibi.run(unpacked, None, _inputs(unpacked))[0].tolist()
    assert kibi.run(packed, None, _inputs(packed))[0].tolist() == expected
    for core in ("cortex-m0plus", "cortex-m4"):
        flash_bytes: list[int] = []
        for graph in (unpacked, packed):
            library = kibi.compile(graph, kibi.plan(graph, core), tmp_path / core / str(len(flash_bytes)))
            assert DeviceEngine(library).run(_inputs(graph))[0].tolist() == expected
            flash_bytes.append(kibi.measure(library, oracle=False).flash_bytes)
        assert flash_bytes[1] < 0.75 * flash_bytes[0]
    assert HostEngine(library).run(_inputs(packed))[0].tolist() == expected


@pytest.mark.slow
@zoo.requires_zoo
@pytest.mark.parametrize("how", [pytest.param("legacy", marks=pytest.mark.slow), "decode"])
def test_compressed_real_model_needs_less_flash_and_decompressed_fewer_instructions(how: str, tmp_path: Path) -> None:
    """A third of the flash less, by default; half of the instructions less, decoded; and the bits of the clustered original."""
    name = f"derived_ic_lut4_{how}"
    path = zoo.model_path(name)
    inputs, expected = zoo.seeded_runs(name)[0], zoo.catalog()["derived_ic_lut4_clustered"].output_digests[0]
    flash_bytes, instructions = [], []
    for decompress in (False, True):
        model = kibi.load(path, decompress=decompress)
        library = kibi.compile(model, kibi.plan(model, granularity="tensor"), tmp_path / str(decompress))
        engine = DeviceEngine(library)
        assert tuple(map(zoo.digest, engine.run(inputs))) == expected
        assert engine.last is not None
        instructions.append(engine.last.instructions)
        flash_bytes.append(kibi.measure(library, oracle=False).flash_bytes)
    assert flash_bytes[0] < 0.67 * flash_bytes[1]
    assert instructions[1] < 0.5 * instructions[0]


def test_decompressed_command_line_is_in_what_it_makes(tmp_path: Path) -> None:
    """`kibi compile --decompress` writes a library without look-ups, and says how it was made."""
    from kibi.cli.main import main  # noqa: PLC0415 - beside its only use

    path = tmp_path / "small.tflite"
    path.write_bytes(_network(16))
    for words, is_there in ((["--decompress"], False), ([], True)):
        folder = tmp_path / f"library{len(words)}"
        assert main(["compile", str(path), "-o", str(folder), *words]) == 0
        assert (folder / "kernels" / "kibi_conv2d_s8_codebook.c").exists() == is_there
        assert ("--decompress" in (folder / "small.c").read_text().splitlines()[1]) != is_there
