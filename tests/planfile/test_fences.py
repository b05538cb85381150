"""The fences of plan files: which constants may be written, which steps read them, and that no file makes a write do harm."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.emulator import Core
from kibi.engines.core import written_core
from kibi.engines.core_device import MODEL_BYTES
from kibi.ir import Graph
from kibi.kernels.params import PARAMS
from kibi.kernels.params.contract_operations import ANY_ELEMENTS, Op, operations
from kibi.kernels.params.contract_text import has_contract
from kibi.kernels.params.layout import Layout
from kibi.planfile.contracts import any_elements, contract_of
from kibi.planfile.kernel_ids import kernel_id
from kibi.planfile.reader import PlanFile
from kibi.planfile.records import DIGEST_BYTES, GRAPH, HEADER, NODE
from kibi.planfile.run_reader import runs_of
from kibi.toolchain import build_image
from tests.docs.documents import DOCS
from tests.ops.comparison import graph_of
from tests.planfile.c_model import CModel
from tests.planfile.file_constants import constants_of
from tests.planfile.mutants import with_digest
from tests.planfile.test_weights import NETWORKS, planned_file, random_ranges, weights_end
from tests.support.amount import amount, share
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS
from tests.support.zoo import catalog, requires_zoo

_LOOKS = frozenset(["RANGE", "LEAST", "MOST", "HIGHEST", "LOWEST", "PRODUCT", "TABLE_INPUTS", "TABLE_OUTPUTS", "BELOW"])
"""The operations of contracts that look at elements of the last array."""


def _steps_before(file: PlanFile, byte: int) -> int:
    """How many steps the runs of the model have before one of their bytes."""
    graph = file.record(GRAPH, file.header["graphs"])
    nodes = [file.record(NODE, graph["nodes"] + k * NODE.size_bytes) for k in range(graph["node_count"])]
    return sum(run.steps for run in runs_of(file, graph, nodes) if run.offset - graph["runs"] < byte)


@pytest.mark.parametrize("granularity", ["row", "tensor"])
@pytest.mark.parametrize("operator", share(sorted(OPERATOR_MODELS), 1))
def test_fences_say_which_steps_read_constants(operator: str, granularity: str) -> None:
    """Exactly: those in graphs inside of operators are read by the nodes that reach them, and by no others."""
    for seed in range(amount(1, 12)):
        graph = graph_of(OPERATOR_MODELS[operator](Seeded(seed)))
        _, file = planned_file(graph, granularity=granularity)
        if not all(has_contract(PARAMS[kernel]) for kernel in file.kernels):
            continue
        constants = constants_of(file)
        for each in file.fences:
            readers = constants.readers(each.offset, each.offset + each.size_bytes)
            if readers:
                assert _steps_before(file, each.first) == min(readers)
                assert _steps_before(file, each.last) == each.until == max(readers) + 1


def _with_other_pointers(file: PlanFile, random: np.random.Generator) -> bytes:
    """A file of which some pointers to constants lead elsewhere: into records, runs, tables, other constants."""
    data = bytearray(file.data)
    graph = file.record(GRAPH, file.header["graphs"])
    nodes = [file.record(NODE, graph["nodes"] + k * NODE.size_bytes) for k in range(graph["node_count"])]
    names = {kernel_id(name): name for name in file.kernels}
    for _ in range(int(random.integers(1, 4))):
        node = nodes[random.integers(len(nodes))]
        kind = PARAMS[names[node["kernel_id"]]]
        places = [
            place for each, place in zip(kind.fields, Layout.of(kind).offsets, strict=True) if each.is_pointer
        ] or [0]
        at = node["params"] + places[random.integers(len(places))]
        to = int(random.integers(0, len(data) // 4)) * 4
        data[at : at + 4] = ((to - node["params"]) % (1 << 32)).to_bytes(4, "little")
    return with_digest(data)


def _with_other_fences(file: PlanFile, random: np.random.Generator) -> bytes:
    """A file whose weights end elsewhere, also over records, or that has another number of fences."""
    data = bytearray(file.data)
    last = len(data) - DIGEST_BYTES - 4
    ends = [
        weights_end(file) + int(random.integers(-8, 200)),
        int(random.integers(0, len(data) + 64)),
        int(random.integers(1 << 24)),
    ]
    data[last : last + 4] = ends[random.integers(3)].to_bytes(4, "little")
    if random.integers(2):
        count = [int(random.integers(1, 4)), int(random.integers(1 << 16)), len(data) // 16][random.integers(3)]
        place = HEADER.offsets["fences"]
        data[place : place + 2] = count.to_bytes(2, "little")
    return with_digest(data)


@pytest.mark.parametrize("made", [_with_other_pointers, _with_other_fences])
@pytest.mark.parametrize("graph", NETWORKS, ids=lambda each: each.name)
def test_no_write_makes_a_file_that_open_would_refuse(
    graph: Graph, made: Callable[[PlanFile, np.random.Generator], bytes]
) -> None:
    """Whoever made the file: open takes none that has anything which it looks at where weights are written."""
    _, file = planned_file(graph)
    random, opened, refused, taken = np.random.default_rng(4), 0, 0, 0
    for _ in range(amount(100, 3000)):
        hostile = PlanFile(made(file, random))
        try:
            model = CModel(hostile, weights=True)
        except AssertionError:
            refused += 1
            continue
        opened += 1
        for first, end in random_ranges(random, hostile, [(HEADER.size_bytes, max(weights_end(hostile), 65))], 12):
            new = random.integers(0, 256, end - first, np.uint8).tobytes()
            if model.write_weights(first, new, waits=False)[0] == 0:
                taken += 1
                CModel(PlanFile(with_digest(bytearray(model.data.tobytes()))), weights=True)  # it opens
                assert model.call("invoke") == 0
    assert min(opened, refused, taken) > amount(3, 10)


@pytest.mark.parametrize("kernel", share(sorted(PARAMS), 0, 2))
def test_contract_says_which_elements_it_looks_at(kernel: str) -> None:
    """Also that of a core that leaves out parts: what such a core looks at, the writer of a file knows."""
    for without in (frozenset[str](), frozenset(PARAMS[kernel].parts)):
        looked, array = set[int](), -1
        for operation, data in operations(contract_of(kernel, without)):
            if operation is Op.ARRAY:
                array = data[0]
            elif operation in (Op.EACH, Op.MOST_SUM):
                looked |= {each % 32 for each in data}
                array = -1
            elif operation is Op.FIELDS:
                array = -1
            elif operation.name in _LOOKS:
                assert array >= 0
                assert not array & ANY_ELEMENTS
                looked.add(array % 32)
        kind = PARAMS[kernel]
        places = zip(kind.fields, Layout.of(kind).offsets, strict=True)
        assert not looked & {place // 4 for each, place in places if each.name in any_elements(kernel)}


@requires_zoo
def test_write_takes_what_the_page_says(tmp_path: Path) -> None:
    """Instructions and stack on the emulated core, and bytes of the file; the table of SOFTMAX alone is no weight."""
    graph = kibi.simplify(kibi.load(catalog()["mlperf_kws_int8"].path))
    processor, plan = kibi.target("cortex-m4"), kibi.plan(graph, target="cortex-m4")
    file = kibi.compile_plan(graph, plan, fences=True)
    stays = [last - first for first, last in constants_of(file).ranges if first >= weights_end(file)]
    assert len([size for size in stays if size > 4]) == 1
    sources = written_core(file.kernels, processor, tmp_path, file.parts, weights=True)
    entries = [f"kibi_{each}" for each in ("model_open", "model_run_for", "weights_write", "core_checked_kernels")]
    image = build_image(sources, processor, entries=entries, level="s", includes=[tmp_path])
    core = Core(image, processor)
    data = core.allocate("plan file", len(file.data), alignment=8)
    arena, model = (
        core.allocate("arena", file.arena_bytes, alignment=16),
        core.allocate("model", MODEL_BYTES, alignment=4),
    )
    given, until = core.allocate("given", 64, alignment=4), core.allocate("until", 4, alignment=4)
    core.write(data, file.data)
    kernels = image.symbols["kibi_core_checked_kernels"].address
    assert core.call("kibi_model_open", model, data, len(file.data), kernels, arena, file.arena_bytes).signed_value == 0
    core.call("kibi_model_run_for", model, 50)
    one, many = ([
        core.call("kibi_weights_write", model, each.offset, given, size, waits)
        for each in file.fences for waits in (until, 0)
    ] for size in (1, 64))  # fmt: skip
    page = " ".join((DOCS / "field-updates.md").read_text("utf-8").split())
    told = re.search(
        r"takes (\d+) to (\d+) instructions for this model, and (\d+) for each byte; (\d+) bytes of stack", page
    )
    assert told is not None
    least, most, each_byte, stack = map(int, told.groups())
    assert [least, most] == [f(call.instructions for call in one) for f in (min, max)]
    assert max(call.instructions for call in many) <= most + 63 * each_byte
    assert max(call.stack_bytes for call in (*one, *many)) == stack
    plain = kibi.compile_plan(graph, plan)
    assert f"this model has {len(file.fences)}, and {len(file.data):,} bytes in place of {len(plain.data):,}" in page
