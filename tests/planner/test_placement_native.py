"""The native code of placement: under sanitizers, on published instances, the same each time."""

import subprocess
from pathlib import Path

import pytest

from kibi.planner.placement.check import check_offsets
from kibi.planner.placement.items import Item
from kibi.planner.placement.native import SOURCES
from kibi.planner.placement.placing import Status, place_items
from kibi.planner.placement_file import Instance, read_instance
from kibi.toolchain import build_program
from tests.support.zoo import zoo_path
from tests.toolchain.tools import check_gcc

INSTANCES = zoo_path().parent / "planning"
CAPACITY = 1_048_576
requires_instances = pytest.mark.skipif(
    not (INSTANCES / "minimalloc").is_dir(), reason=f"no planning instances at {INSTANCES}; set KIBI_ZOO"
)


def _read(name: str) -> Instance:
    path = INSTANCES / name
    return read_instance(path.read_text(encoding="utf-8"), path.name)


@pytest.mark.parametrize("compiler", ["zig", pytest.param("gcc", marks=pytest.mark.slow)])
def test_native_code_under_sanitizers_is_clean_and_right(compiler: str) -> None:
    """Random problems, with all strategies: no bad access, no undefined behaviour, no wrong answer."""
    if compiler == "gcc":
        check_gcc()
    program = build_program(
        [*SOURCES, Path(__file__).parent / "placement_random.c"],
        compiler=compiler,
        level="1",
        includes=[SOURCES[0].parent],
        sanitize=True,
    )
    done = subprocess.run([program, "7", "40"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@requires_instances
@pytest.mark.parametrize("name", "ABCDEFGHIJK")
def test_place_items_minimalloc_instance_fits(name: str) -> None:
    """Each of MiniMalloc's challenging instances fits its capacity, and the placement is right."""
    items = _read(f"minimalloc/{name}.{CAPACITY}.csv").items
    found = place_items(items, capacity=CAPACITY)
    assert found.status in (Status.OPTIMAL, Status.FEASIBLE)
    assert found.offsets is not None
    assert found.peak_bytes <= CAPACITY
    check_offsets(items, found.offsets, found.peak_bytes)


@requires_instances
@pytest.mark.parametrize("name", "ABCDEFGHIK")
def test_place_items_minimalloc_instance_meets_its_lower_bound(name: str) -> None:
    """Without a capacity, too, all but one of these instances are placed in as few bytes as live at once."""
    items = _read(f"minimalloc/{name}.{CAPACITY}.csv").items
    found = place_items(items)
    assert found.status is Status.OPTIMAL
    assert found.offsets is not None
    check_offsets(items, found.offsets, found.peak_bytes)


@requires_instances
@pytest.mark.parametrize("name", ["iopddl_G_1", "somas_tensors_resnet50"])
def test_place_items_idealloc_instance_meets_its_lower_bound(name: str) -> None:
    """What must live at once is all that these instances need."""
    items = _read(f"idealloc/{name}.csv").items
    found = place_items(items)
    assert found.status is Status.OPTIMAL
    assert found.offsets is not None
    check_offsets(items, found.offsets, found.peak_bytes)


@requires_instances
def test_place_items_huge_instance_ends_with_a_small_gap() -> None:
    """18,692 buffers are placed in a second or so, within a percent of the bound."""
    items = _read("idealloc/somas_tensors_pangu_2.6B.csv").items
    found = place_items(items)
    assert found.offsets is not None
    check_offsets(items, found.offsets, found.peak_bytes)
    assert found.peak_bytes <= 1.01 * found.lower_bound_bytes


@requires_instances
def test_place_items_twice_is_the_same() -> None:
    """The same instance gets the same offsets, however long the search takes."""
    items = _read(f"minimalloc/D.{CAPACITY}.csv").items
    assert place_items(items, time_limit_seconds=0.3) == place_items(items, time_limit_seconds=0.3)


def test_place_items_rows_by_the_hundreds_meet_the_bound() -> None:
    """Rings of rows, as interleaved convolutions have them, are placed without waste."""
    rows = [Item(k, k + 3, 96) for k in range(200)] + [Item(k, k + 5, 64) for k in range(1, 200)]
    rows += [Item(k, k + 2, 160) for k in range(0, 200, 2)]
    found = place_items(rows)
    assert found.status is Status.OPTIMAL
    assert found.offsets is not None
    check_offsets(rows, found.offsets, found.peak_bytes)
