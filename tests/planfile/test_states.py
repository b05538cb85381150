"""Files that set what a kernel keeps from one inference to the next, or let its rows overlap: the kernel stays in its memory."""

from collections.abc import Iterator

import pytest

import kibi
from kibi.kernels.params import PARAMS
from kibi.kernels.params.contract import has_contract
from kibi.planfile.reader import PlanFile
from kibi.planfile.records import DIGEST_BYTES, GRAPH, HEADER, TENSOR, VARIABLE
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel
from tests.ops.comparison import graph_of
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
    data += (value & 0xFFFFFFFF).to_bytes(4, "little") * -(-most // 4) + bytes(DIGEST_BYTES)
    _put(data, HEADER.offsets["file_bytes"], len(data))
    return with_digest(data)


def _with_overlaps(file: PlanFile) -> Iterator[bytes]:
    """Yields files of which one tensor lies over another one, or some bytes further; there is more memory than they need."""
    graph = file.record(GRAPH, file.header["graphs"])
    whole = bytearray(file.data)
    _put(whole, HEADER.offsets["arena_bytes"], file.header["arena_bytes"] + _MORE)
    _put(whole, HEADER.offsets["state_bytes"], file.header["state_bytes"] + _MORE)
    _put(whole, file.header["graphs"] + GRAPH.offsets["arena_bytes"], graph["arena_bytes"] + _MORE)
    tensors = [graph["tensors"] + TENSOR.size_bytes * k for k in range(graph["tensor_count"])]
    memory = TENSOR.offsets["memory"]
    size = next(each.size_bytes for each in TENSOR.fields if each.name == "memory")
    for moved in tensors:
        for other in tensors:
            for distance in (-4, -2, 0, 1, 2, 4, 6, 16):
                data = bytearray(whole)
                data[moved + memory : moved + memory + size] = file.data[other + memory : other + memory + size]
                _put(data, moved + TENSOR.offsets["base"], file.record(TENSOR, other)["base"] + distance)
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
