"""Leases of plan files: a call says that somebody else has used the arena, in place of a wrong class with KIBI_OK."""

import ctypes

import numpy as np
import pytest

import kibi
from kibi.ir import Graph
from kibi.planfile.reader import PlanFile
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel
from kibi.runtime import seeded_inputs
from tests.engines.networks import pooled_network, residual_network, two_input_network
from tests.planfile.c_model import PAUSED, CModel, block
from tests.support.zoo import catalog, requires_zoo

_TAKEN = -8
_FIRST, _SECOND = residual_network(), pooled_network("MEAN")


def _file(model: Graph, **wish: str) -> PlanFile:
    return PlanFile(plan_file(PlannedModel.of(model, kibi.plan(model, target="host", **wish))))  # type: ignore[arg-type]


def _shared(*models: Graph, **wish: str) -> list[CModel]:
    """Models in one arena as large as the largest one's."""
    files = [_file(model, **wish) for model in models]
    arena = block(bytes(max(CModel(file, lease=True).needed for file in files)))
    return [CModel(file, arena, lease=True) for file in files]


def _wanted(model: Graph, seed: int) -> list[bytes]:
    return [each.tobytes() for each in kibi.run(model, None, seeded_inputs(model, seed))]


def test_lease_takes_four_bytes_of_the_arena_and_none_without() -> None:
    """The word, and what keeps the alignment."""
    file = _file(_FIRST)
    assert CModel(file).needed == file.arena_bytes
    assert CModel(file, lease=True).needed == file.arena_bytes + max(4, file.header["arena_alignment"])


def test_second_model_in_the_same_arena_is_noticed_before_and_after_an_inference() -> None:
    """Inputs that it overwrote, and outputs that it overwrote; whoever hands over inputs again goes on."""
    first, second = _shared(_FIRST, _SECOND)
    inputs, others = seeded_inputs(_FIRST, 1), seeded_inputs(_SECOND, 2)
    first.write_all(inputs)
    second.write_all(others)
    assert first.call("invoke") == _TAKEN
    assert second.call("invoke") == 0
    assert second.outputs() == _wanted(_SECOND, 2)
    status, port = first.port("output", 0)
    assert (status, port.data) == (_TAKEN, None)
    assert port.bytes == first.file.outputs[0].size_bytes
    first.write_all(inputs)
    assert first.call("invoke") == 0
    assert first.outputs() == _wanted(_FIRST, 1)
    second.write_all(others)
    assert first.port("output", 0)[0] == _TAKEN


def test_two_structs_of_one_model_are_told_apart() -> None:
    """The word depends on the struct, not on the file alone."""
    first, second = _shared(_FIRST, _FIRST)
    inputs = seeded_inputs(_FIRST, 1)
    first.write_all(inputs)
    second.write_all(inputs)
    assert (first.call("invoke"), second.call("invoke")) == (_TAKEN, 0)


def test_another_file_in_the_same_struct_is_told_apart() -> None:
    """What the first file's inference left is nothing for the second's."""
    (model,) = _shared(_FIRST)
    model.write_all(seeded_inputs(_FIRST, 1))
    assert model.call("invoke") == 0
    data = np.frombuffer(_file(_FIRST, granularity="tensor").data, np.uint8)
    other = CModel(PlanFile(data.tobytes()), lease=True)
    table = ctypes.addressof(ctypes.c_char.in_dll(model._library, "kibi_core_kernels"))
    arena = block(bytes(max(model.needed, other.needed)))
    arena[: model.arena.size] = model.arena
    status = model.call(
        "open_trusted", ctypes.c_void_p(other.data.ctypes.data), ctypes.c_size_t(data.size), ctypes.c_void_p(table),
        ctypes.c_void_p(arena.ctypes.data), ctypes.c_size_t(arena.size),
    )  # fmt: skip
    assert status == 0
    assert model.call("invoke") == _TAKEN


def test_application_that_overwrites_the_arena_is_noticed_between_slices() -> None:
    """In the middle of an inference nothing goes on; the next input begins anew."""
    (model,) = _shared(_FIRST)
    inputs = seeded_inputs(_FIRST, 1)
    for written in (0x77, 0x00, 0xFF):
        model.write_all(inputs)
        assert model.run_for(5) == PAUSED
        model.arena[:] = written
        for _ in range(2):
            assert model.run_for(5) == _TAKEN
        assert model.call("invoke") == _TAKEN
        model.write_all(inputs)
        assert model.finish(7) == 0
        assert model.outputs() == _wanted(_FIRST, 1)


def test_lost_inference_begins_anew_where_nobody_asked_in_between() -> None:
    """The inputs are handed over again before any call has said that they were lost."""
    first, second = _shared(_FIRST, _SECOND)
    first.write_all(seeded_inputs(_FIRST, 3))
    assert first.run_for(5) == PAUSED
    second.write_all(seeded_inputs(_SECOND, 2))
    assert second.call("invoke") == 0
    first.write_all(seeded_inputs(_FIRST, 1))
    assert first.finish(4) == 0
    assert first.outputs() == _wanted(_FIRST, 1)


def test_input_that_was_written_before_somebody_elses_use_is_missed() -> None:
    """One of two inputs is handed over, another model runs, the other one follows: the first is gone."""
    model = two_input_network()
    first, second = _shared(model, _SECOND)
    inputs = seeded_inputs(model, 1)
    first.write(0, inputs[0])
    second.write_all(seeded_inputs(_SECOND, 2))
    assert second.call("invoke") == 0
    first.write(1, inputs[1])
    assert first.call("invoke") == _TAKEN
    first.write(0, inputs[0])
    assert first.call("invoke") == 0
    assert first.outputs() == _wanted(model, 1)


def test_open_in_a_shared_arena_is_noticed() -> None:
    """The checks of an untrusted file use the arena."""
    first, _ = _shared(_FIRST, _SECOND)
    first.write_all(seeded_inputs(_FIRST, 1))
    CModel(_file(_SECOND), first.arena, lease=True)
    assert first.call("invoke") == _TAKEN


def _push_all(model: CModel, inputs: list[np.ndarray]) -> None:
    rows = [0] * len(inputs)
    while (number := model.call("expected_input")) >= 0:
        row = inputs[number].reshape(model.file.inputs[number].rows, -1)[rows[number]]
        assert model.push(number, row) == 0
        rows[number] += 1


def test_stream_that_lost_its_arena_says_so_until_it_is_rewound() -> None:
    """Rows, the end of the inference and the next input all say so; another model's stream is complete."""
    first, second = _shared(_FIRST, _SECOND, input="streamed")
    inputs, others = seeded_inputs(_FIRST, 1), seeded_inputs(_SECOND, 2)
    rows = inputs[0][0]
    for row in rows[:3]:
        assert first.push(0, row) == 0
    assert second.call("expected_input") == 0  # asks, and takes nothing
    assert first.push(0, rows[3]) == 0
    _push_all(second, others)
    assert second.call("invoke") == 0
    assert second.outputs() == _wanted(_SECOND, 2)
    for _ in range(2):
        assert first.push(0, rows[4]) == _TAKEN
        assert first.call("expected_input") == -1
        assert first.call("invoke") == _TAKEN
    first.call("rewind")
    _push_all(first, inputs)
    assert first.call("invoke") == 0
    assert first.outputs() == _wanted(_FIRST, 1)


@pytest.mark.parametrize("wish", [{}, {"input": "streamed"}, {"input": "external"}, {"output": "external"}], ids=str)
def test_lease_changes_no_bit_of_any_output(wish: dict[str, str]) -> None:
    """In one go and in slices, in every way of handing over, run after run."""
    graph = two_input_network()
    file = _file(graph, **wish)
    model = CModel(file, lease=True)
    for seed in range(3):
        inputs = seeded_inputs(graph, seed)
        if file.streams:
            _push_all(model, inputs)
            assert model.call("invoke") == 0
        else:
            model.write_all(inputs)
            assert (model.finish(3) if seed else model.call("invoke")) == 0
        assert model.outputs() == _wanted(graph, seed)


def test_inference_without_inputs_in_the_arena_takes_it() -> None:
    """Whoever begins an inference has the bytes; one that is under way elsewhere is lost."""
    first, second = _shared(_FIRST, _SECOND, input="external")
    first.write_all(seeded_inputs(_FIRST, 1))
    second.write_all(seeded_inputs(_SECOND, 2))
    assert first.run_for(3) == PAUSED
    assert second.call("invoke") == 0
    assert first.run_for(3) == _TAKEN
    assert second.outputs() == _wanted(_SECOND, 2)
    assert first.call("invoke") == 0
    assert first.outputs() == _wanted(_FIRST, 1)
    assert second.port("output", 0)[0] == _TAKEN


@requires_zoo
def test_arenas_of_real_models_may_be_shared() -> None:
    """A model with a loop of its own steps at the start of its order, and one with variables."""
    graphs = [kibi.simplify(kibi.load(catalog()[name].path)) for name in ("mlperf_ad_int8", "mww_v2_okay_nabu")]
    models = _shared(*graphs)
    for seed in range(2):
        for model, graph in zip(models, graphs, strict=True):
            model.write_all(seeded_inputs(graph, seed))
            if seed == 0:
                model.call("reset")
                assert model.finish(2) == 0
                assert model.outputs() == _wanted(graph, seed)
        if seed:
            assert [model.call("invoke") for model in models] == [_TAKEN, 0]


@pytest.mark.parametrize(
    ("short", "status"), [(0, 0), (1, -2), (1 << 30, -2)], ids=["enough", "short by a byte", "nothing"]
)
def test_arena_with_room_for_the_word_is_needed(short: int, status: int) -> None:
    """A byte less is refused."""
    model = CModel(_file(_FIRST), lease=True)
    table = ctypes.addressof(ctypes.c_char.in_dll(model._library, "kibi_core_kernels"))
    found = model.call(
        "open_trusted", ctypes.c_void_p(model.data.ctypes.data), ctypes.c_size_t(model.data.size), ctypes.c_void_p(table),
        ctypes.c_void_p(model.arena.ctypes.data), ctypes.c_size_t(max(model.needed - short, 0)),
    )  # fmt: skip
    assert found == status
