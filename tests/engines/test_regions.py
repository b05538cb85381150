"""Plans with several memories, in all engines."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.engines import DeviceEngine, HostEngine
from kibi.planner import Region
from kibi.runtime import seeded_inputs
from tests.engines.networks import residual_network, two_input_network
from tests.support.amount import sample

BOARD = (Region("fast", 300, 1.0), Region("slow", 4096, 4.0), Region("flash", 1 << 20, 9.0, False, True))


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize(
    ("granularity", "handover"),
    sample(
        [(each, handover) for each in ("tensor", "row") for handover in ("stored", "streamed", "external")],
        [("row", "streamed"), ("tensor", "external")],
    ),
)
def test_regions_give_the_same_bits_in_all_engines(granularity: str, handover: str, tmp_path: Path) -> None:
    """Buffers in two memories and weights in a third: Python, host C and the device agree with one arena."""
    for model in (residual_network(height=20), two_input_network()):
        plan = kibi.plan(model, granularity=granularity, input=handover, regions=BOARD, place_weights=True)
        library = kibi.compile(model, plan, tmp_path / model.name)
        engines = (kibi.Interpreter(model, plan), HostEngine(library), DeviceEngine(library))
        inputs = seeded_inputs(model, 3)
        for engine in engines:
            np.testing.assert_array_equal(engine.run(inputs)[0], kibi.run(model, None, inputs)[0])


def test_library_with_regions_takes_one_address_for_each_that_buffers_use(tmp_path: Path) -> None:
    """The header lists them; weights carry their region's macro; regions without buffers are not asked for."""
    model = residual_network(height=20)
    plan = kibi.plan(model, granularity="tensor", regions=BOARD, place_weights=True)
    used = [use.name for use in plan.regions if use.used_bytes]
    library = kibi.compile(model, plan, tmp_path)
    header, weights = library.files["residual.h"], library.files["residual_weights.c"]
    assert f"#define RESIDUAL_REGIONS {len(used)}u" in header
    assert all(f"RESIDUAL_REGION_{name.upper()}_BYTES" in header for name in used)
    assert "RESIDUAL_REGION_FLASH" not in header
    assert "] RESIDUAL_IN_FLASH = {" in weights


def test_init_checks_each_region(tmp_path: Path) -> None:
    """A region that is missing, too small or misaligned is refused."""
    model = residual_network(height=20)
    plan = kibi.plan(model, granularity="tensor", regions=BOARD)
    sizes = [use.used_bytes for use in plan.regions if use.used_bytes]
    engine = HostEngine(kibi.compile(model, plan, tmp_path))
    memory = [np.zeros(size + 8, np.uint8) for size in sizes]
    places, count = [block.ctypes.data for block in memory], len(sizes)

    def status(addresses: list[int | None], given: list[int]) -> int:
        return engine.call("init", (ctypes.c_void_p * count)(*addresses), (ctypes.c_size_t * count)(*given))

    assert status([*places], sizes) == 0
    assert status([None, *places[1:]], sizes) == -1
    assert status([*places], [*sizes[:-1], sizes[-1] - 1]) == -2
