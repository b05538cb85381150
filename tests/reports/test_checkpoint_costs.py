"""What checkpoints take on the emulated core: every figure is of calls that saved and restored what was needed."""

from pathlib import Path
from typing import Any

import pytest

import kibi
from kibi.codegen import Library
from kibi.engines import DeviceEngine
from kibi.errors import MismatchError
from kibi.ir import Graph
from kibi.planner.regions.file import Region
from kibi.reports import checkpoint_costs
from kibi.reports.checkpoint_costs import CheckpointCost, checkpoint_cost
from kibi.reports.checkpoints import cheapest_places
from tests.engines.networks import pooled_network, residual_network, two_input_network
from tests.support.amount import share
from tests.support.zoo import catalog, check_zoo

_BOARD = (Region("fast", 300, 1.0), Region("slow", 4096, 4.0))


def _library(model: Graph, folder: Path, target: str = "cortex-m4", **wish: Any) -> Library:
    return kibi.compile(model, kibi.plan(model, target, **wish), folder, checkpoints=True)


def _holds(library: Library, found: CheckpointCost) -> None:
    """Checks what is known of the figures otherwise."""
    header = library.files[f"{library.model.graph.name}.h"]
    assert f"_CHECKPOINT_BYTES {found.slot_bytes}u" in header
    assert {each.steps for each in cheapest_places(library.model.planned)} <= {each.steps for each in found.places}
    assert max(each.size_bytes for each in found.places) == found.slot_bytes
    assert found.checkpoint_instructions == max(each.checkpoint_instructions for each in found.places)
    assert found.resume_instructions == max(each.resume_instructions for each in found.places)
    for (
        each
    ) in found.places:  # a CRC-32 takes some instructions for each byte; who resumes does it twice or three times
        assert each.size_bytes < each.checkpoint_instructions < each.resume_instructions
    assert 0 < found.checkpoint_stack_bytes < 400
    assert 0 < found.resume_stack_bytes < 400


@pytest.mark.share(2, part=1)
@pytest.mark.parametrize(
    "wish",
    share([{"granularity": "tensor"}, {"input": "streamed"}, {}, {"regions": _BOARD, "granularity": "tensor"}], 1, 2),
    ids=str,
)
def test_figures_are_those_of_the_library_that_was_written(wish: dict[str, Any], tmp_path: Path) -> None:
    """Stored and streamed, by the row and by the tensor, in two memories."""
    for model in (residual_network(height=20), two_input_network(), pooled_network("MEAN")):
        library = _library(model, tmp_path / model.name, **wish)
        _holds(library, checkpoint_cost(library))


@pytest.mark.slow
def test_code_is_what_checkpoints_add_to_slices(tmp_path: Path) -> None:
    """The difference of two linked programs, on a small core and by another level, too."""
    model = residual_network()
    plan = kibi.plan(model, "cortex-m0plus")
    library = kibi.compile(model, plan, tmp_path / "one", checkpoints=True)
    plain = kibi.compile(model, plan, tmp_path / "two", slices=True)
    one, two = (DeviceEngine(each, level="2").image.code_bytes for each in (library, plain))
    found = kibi.measure(library, level="2", oracle=False).checkpoints
    assert found is not None
    assert found.code_bytes == one - two > 500
    assert kibi.measure(plain, oracle=False).checkpoints is None


def test_figures_of_a_checkpoint_that_restores_too_little_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An inference that was resumed must give the bits of one that was not."""
    library = _library(residual_network(), tmp_path)
    source = tmp_path / "residual.c"
    text = source.read_text(encoding="utf-8")
    line = "failed |= residual_move(slots, slot, head, is_written, model->arena + life.offset, (uint32_t)life.bytes);"
    assert line in text
    source.write_text(text.replace(line, line.replace("life.bytes", "life.bytes / 2u")), encoding="utf-8")
    with pytest.raises(MismatchError, match="resumed after"):
        checkpoint_cost(library)
    monkeypatch.setattr(checkpoint_costs, "_check", lambda *_: None)
    assert checkpoint_cost(library).slot_bytes > 0


@pytest.mark.zoo
@pytest.mark.parametrize("name", [pytest.param("mww_v2_okay_nabu", marks=pytest.mark.slow), "tflm_micro_speech"])
def test_figures_of_real_models(name: str, tmp_path: Path) -> None:
    """A model with variables, and one that hears words."""
    check_zoo()
    library = _library(kibi.simplify(kibi.load(catalog()[name].path)), tmp_path)
    _holds(library, checkpoint_cost(library))
