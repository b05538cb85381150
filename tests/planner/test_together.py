"""Several models and the application's buffers in one memory: nothing shares a byte at a time, and the proof holds."""

from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import kibi
import kibi.demo
from kibi.engines import HostEngine
from kibi.errors import PlanError
from kibi.planner import Plan, validate
from kibi.planner.regions.file import Region
from kibi.planner.together import ApplicationBuffer, JointPlan, plan_together
from kibi.reports.measurement import same_bits
from kibi.runtime import seeded_inputs
from tests.engines.networks import pooled_network, residual_network, two_input_network
from tests.support.amount import sample

_MODELS = (residual_network(), pooled_network("MEAN"), two_input_network())


@cache
def _plans(granularity: str) -> list[Plan]:
    return [kibi.plan(model, granularity=granularity) for model in _MODELS]


def _planned(texts: list[str], granularity: str = "row") -> JointPlan:
    return plan_together(_MODELS, _plans(granularity), [ApplicationBuffer.of(text) for text in texts])


_BUFFERS = [
    [],
    ["rx:300@0.3-0.6"],
    ["rx:300@0.3-0.6", "tx:40", "display:500@1.5-2"],
    ["log:1@2.99-3", "dma:4000@0-0.01"],
]


@pytest.mark.share(2, part=1)
@pytest.mark.parametrize("granularity", ["row", "tensor"])
@pytest.mark.parametrize("texts", sample([(each,) for each in _BUFFERS], [(each,) for each in _BUFFERS[2:]]), ids=str)
def test_buffers_share_no_byte_with_what_lives_at_the_same_time(texts: list[str], granularity: str) -> None:
    """Byte by byte, in all steps of all models; bounds, sums and the models' own plans are right."""
    made = _planned(texts, granularity)
    first = 0
    lower = []
    for model, plan in zip(_MODELS, made.plans, strict=True):
        validate(model, plan)
        for buffer in made.buffers:
            for step, _ in enumerate(plan.steps, first):
                if buffer.start <= step < buffer.end:
                    alive = [each for each in plan.buffers if each.start <= step - first < each.end]
                    low, top = buffer.offset, buffer.offset + buffer.size_bytes
                    assert all(top <= each.offset or each.offset + each.size_bytes <= low for each in alive)
        inside = [each.size_bytes for each in made.buffers if each.start < first + len(plan.steps) and each.end > first]
        lower.append(max(plan.lower_bound_bytes, *inside) if inside else plan.lower_bound_bytes)
        first += len(plan.steps)
    for one, other in combinations(made.buffers, 2):
        apart = one.end <= other.start or other.end <= one.start
        assert apart or one.offset + one.size_bytes <= other.offset or other.offset + other.size_bytes <= one.offset
    tops = [plan.arena_bytes for plan in made.plans] + [each.offset + each.size_bytes for each in made.buffers]
    assert made.arena_bytes == max(tops) <= made.separate_bytes
    assert max(lower) <= made.lower_bound_bytes <= made.arena_bytes
    assert [each.offset % 8 for each in made.buffers] == [0] * len(texts)


def test_times_are_shares_of_the_row_steps_of_each_model() -> None:
    """From the step in which a buffer's time begins to that in which it ends; at least one step."""
    made = _planned(["a:8@0.5-1.5", "b:8@2-3", "c:8@0.001-0.002", "d:8"])
    one, two, three = (len(plan.steps) for plan in made.plans)
    found = {each.name: (each.start, each.end) for each in made.buffers}
    assert found["a"] == (one // 2, one + -(-two // 2))
    assert found["b"] == (one + two, one + two + three)
    assert found["c"] == (0, 1)
    assert found["d"] == (0, one + two + three)


def test_models_placed_together_run_in_one_block_while_the_application_writes_its_buffers(tmp_path: Path) -> None:
    """The generated code of each model, in slices of one step, and canaries in each buffer for as long as it is needed."""
    import ctypes  # noqa: PLC0415 - only here

    made = _planned(_BUFFERS[2])
    library = kibi.compile(_MODELS, made.plans, tmp_path, slices=True)
    memory = np.zeros(made.arena_bytes + 64, np.uint8)
    memory = memory[-memory.ctypes.data % 64 :][: made.arena_bytes]
    random, step = np.random.default_rng(3), 0
    for number, (model, plan) in enumerate(zip(_MODELS, made.plans, strict=True)):
        engine, inputs = HostEngine(library, number), seeded_inputs(model, 1)
        assert engine.call("init", ctypes.c_void_p(memory.ctypes.data), ctypes.c_size_t(plan.arena_bytes)) == 0
        for place, array in enumerate(inputs):
            ctypes.memmove(engine.address("input", place), array.ctypes.data, array.nbytes)
        for _ in plan.steps:
            needed = [each for each in made.buffers if each.start <= step < each.end]
            written = [random.integers(0, 256, each.size_bytes, np.uint8) for each in needed]
            for each, data in zip(needed, written, strict=True):
                memory[each.offset : each.offset + each.size_bytes] = data
            engine.call("run_for", ctypes.c_uint32(1))
            for each, data in zip(needed, written, strict=True):
                np.testing.assert_array_equal(memory[each.offset : each.offset + each.size_bytes], data)
            step += 1
        assert same_bits(engine.outputs(), kibi.run(model, None, inputs))


@pytest.mark.slow
def test_bytes_that_are_free_for_a_while_are_used() -> None:
    """A buffer as large as what no step of its time needs costs nothing, and that is proven."""
    model = kibi.load(kibi.demo.model_path())
    plan = kibi.plan(model)
    made = plan_together([model], [plan], [ApplicationBuffer.of("rx:800@0.9-1")])
    assert made.arena_bytes < plan.arena_bytes + 800 == made.separate_bytes
    assert made.proven_optimal


@pytest.mark.parametrize(
    ("text", "why"),
    [
        *(
            (text, "is no buffer")
            for text in ("", "rx", "rx:", "rx:-5", "9x:5", "rx:5@", "rx:5@1", "rx:5@a-b", "é:5", "rx:5@-1-2")
        ),
        *((f"rx:5@{when}", "run from 0 to 3") for when in ("0.5-0.5", "0.6-0.5", "2-3.01", "3-4")),
        ("rx:0", "0 bytes"),
        ("rx:999999999999999999", "bytes"),
    ],
)
def test_buffer_that_makes_no_sense_is_refused(text: str, why: str) -> None:
    """The error says what a buffer looks like, or which times there are."""
    with pytest.raises(PlanError, match=why):
        _planned([text])


def test_equal_names_and_plans_with_regions_are_refused() -> None:
    """Each in words."""
    with pytest.raises(PlanError, match="two buffers are called 'a'"):
        _planned(["a:5", "a:6"])
    model = _MODELS[0]
    plan = kibi.plan(model, regions=(Region("fast", 1 << 10, 1.0), Region("slow", 1 << 20, 2.0)), granularity="tensor")
    with pytest.raises(PlanError, match="has a plan with regions"):
        plan_together([model], [plan], [])
