"""Files that set what a kernel keeps from one inference to the next, or let its rows overlap: the kernel stays in its memory."""

from collections.abc import Iterator

import pytest

import kibi
from kibi.kernels.params import PARAMS
from kibi.kernels.params.contract_text import has_contract
from kibi.planfile.reader import PlanFile
from kibi.planfile.records import DIGEST_BYTES, GRAPH, HEADER, NODE, VARIABLE
from kibi.planfile.run_reader import runs_of
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel
from tests.ops.comparison import graph_of
from tests.planfile.changed_runs import put_entry, with_spare_number
from tests.planfile.mutants import tried, with_digest
from tests.support.amount import amount
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS

_OPERATORS = ("SignalDelay", "SignalFramer", "SignalOverlapAdd", "SignalStacker")
_KERNELS = (
    "kibi_signal_delay_s16",
    "kibi_signal_framer_s16",
    "kibi_signal_overlap_add_f32",
    "kibi_signal_overlap_add_s16",
    "kibi_signal_stacker_s16",
)
_COUNTS = (-(1 << 31), -2, *range(-1, 48), 1 << 16, (1 << 30) + 1, (1 << 31) - 1)
_MORE = 256


def _files(operator: str) -> Iterator[PlanFile]:
    for seed in range(amount(8, 60)):
        graph = graph_of(OPERATOR_MODELS[operator](Seeded(seed)))
        yield PlanFile(plan_file(PlannedModel.of(graph, kibi.plan(graph))))


def _put(data: bytearray, place: int, value: int) -> None:
    data[place : place + 4] = (value & 0xFFFFFFFF).to_bytes(4, "little")


def _with_states_of(file: PlanFile, value: int) -> bytes:
    """Returns the file with a 32-bit number, again and again, as first value of each variable."""
    records = [file.header["variables"] + VARIABLE.size_bytes * k for k in range(file.header["variable_count"])]
    most = max(file.record(VARIABLE, place)["bytes"] for place in records)
    initial = len(file.data) - DIGEST_BYTES
    data = bytearray(file.data[:initial])
    for place in records:
        _put(data, place + VARIABLE.offsets["initial"], initial)
    data += (value & 0xFFFFFFFF).to_bytes(4, "little") * -(-most // 4) + bytes(4 + DIGEST_BYTES)
    _put(data, HEADER.offsets["file_bytes"], len(data))
    return with_digest(data)


def _with_overlaps(file: PlanFile) -> Iterator[bytes]:
    """Yields files in which a pointer leads where another one does, or some bytes further. There is more state than needed."""
    file = with_spare_number(file)
    graph = file.record(GRAPH, file.header["graphs"])
    whole = bytearray(file.data)
    _put(whole, HEADER.offsets["state_bytes"], file.header["state_bytes"] + _MORE)
    nodes = [file.record(NODE, graph["nodes"] + k * NODE.size_bytes) for k in range(graph["node_count"])]
    runs = list(runs_of(file, graph, nodes))
    for run in runs:
        for moved in range(len(run.entries)):
            for other in range(len(run.entries)):
                for distance in (-4, -2, 0, 1, 2, 4, 6, 16):
                    data = bytearray(whole)
                    put_entry(data, graph, run, moved, max(0, run.entries[other] + distance))
                    yield with_digest(data)


def test_each_kernel_has_a_contract() -> None:
    """A core that checks runs files with any kernel."""
    assert [name for name in PARAMS if not has_contract(PARAMS[name])] == []


@pytest.mark.parametrize("operator", _OPERATORS)
def test_any_count_in_a_variable_is_safe(operator: str) -> None:
    """Files may give variables any first values; all of these run, and no kernel follows a wrong count out of its memory."""
    made = [_with_states_of(file, value) for file in _files(operator) for value in _COUNTS]
    assert tried(_KERNELS, made) == (0, len(made))


@pytest.mark.parametrize("operator", _OPERATORS)
def test_tensors_that_overlap_are_safe(operator: str) -> None:
    """Inputs, outputs and variables may lie over one another; a kernel's copies allow it."""
    made = [each for file in _files(operator) for each in _with_overlaps(file)]
    refused, ran = tried(_KERNELS, made)
    assert refused + ran == len(made)
    assert ran > len(made) // 10
