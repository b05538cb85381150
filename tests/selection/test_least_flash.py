"""For the least flash, the kernels of a model are those with which its code and constants together are smallest."""

import json
import random
import subprocess
import sys
import tempfile
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

import kibi
import kibi.demo
from kibi.engines.engine import entry_points, written_sources
from kibi.engines.storage import storage_sources
from kibi.ir import KernelCall
from kibi.kernels import closure
from kibi.kernels.params.fully_connected import FullyConnectedS8Params
from kibi.selection import Goal, choose, least_flash
from kibi.selection.choice import VARIANTS
from kibi.selection.code_sizes import RECORD, RECORDED_TARGET, code_bytes, is_recorded
from kibi.selection.least_flash import _code_bytes, _Model, _Option
from kibi.targets import target
from kibi.toolchain import build_image
from tests.support.amount import amount
from tests.support.zoo import model_path, requires_zoo, zoo_path

ROOT = Path(__file__).resolve().parents[2]


def _sizes(graph: kibi.Graph, goal: str) -> tuple[int, int]:
    """Bytes of code, and of code and constants, of a model's library."""
    with tempfile.TemporaryDirectory() as folder:
        library = kibi.compile(graph, kibi.plan(graph, "cortex-m4", goal=goal), folder)
        sources, headers = written_sources(library)
        with storage_sources(library, None) as further:
            image = build_image(
                [*sources, *further], library.target, entries=entry_points(library.model), level="s", includes=[headers]
            )
    return image.code_bytes, image.code_bytes + image.weights_bytes


def test_every_function_that_a_choice_may_bring_is_recorded() -> None:
    """With the macros of all parts that its file has; a new variant needs a new record."""
    sets = target(RECORDED_TARGET).kernel_sets
    variants = [each for each in VARIANTS if each.kernel_set in sets and each.goals]
    kernels = frozenset(name for each in variants for name in (each.kernel, each.of))
    files = closure(kernels, sets)
    functions = {name.removesuffix(".c") for name in files if name.endswith(".c")}
    assert functions == {*json.loads(RECORD.read_text(encoding="utf-8"))["functions"]}
    assert all(code_bytes([name], frozenset()) > 0 for name in kernels)


def test_a_function_is_counted_once_and_only_if_a_part_needs_it() -> None:
    """Blocks of two pixels bring the kernel of two pixels, not that of four; what is paid for costs nothing."""
    parts = frozenset({"KIBI_CONV2D_BLOCKS_OF_2"})
    two = code_bytes(["kibi_conv2d_s8_blocks"], parts)
    assert two > code_bytes(["kibi_conv2d_s8_blocks"], frozenset()) + code_bytes(
        ["kibi_conv2d_s8_pixels2"], frozenset()
    )
    assert code_bytes(["kibi_conv2d_s8_blocks", "kibi_conv2d_s8_pixels2"], parts) == two
    assert code_bytes(["kibi_conv2d_s8_blocks"], parts, frozenset({"kibi_conv2d_s8_blocks"})) == 0
    assert not is_recorded("kibi_pad_s8")


def _arrays(kernel: str, weights: int, rng: random.Random) -> frozenset[tuple[bytes, int]]:
    """One array that all layers with the same weights and kernel share, and one of the layer alone."""
    shared = random.Random(f"{kernel} {weights}")
    return frozenset({(f"{kernel} {weights}".encode(), 4 * shared.randint(0, 300)), (rng.randbytes(8), 4)})


def test_equal_arrays_are_counted_once() -> None:
    """As a library has them; a layer with other weights pays for them."""
    graph, core = kibi.load(kibi.demo.model_path()), target("cortex-m4")
    call = next(each for each in graph.general_calls if each.kernel == "kibi_fully_connected_s8")
    params = call.params_as(FullyConnectedS8Params)
    equal, other = (replace(call, params=params.replaced(filter=params.filter + each)) for each in (0, 1))
    alone, twice, different = (least_flash.flash_bytes([call, *more], core) for more in ((), (equal,), (equal, other)))
    struct_bytes = least_flash._option(call).struct_bytes
    assert twice == alone + struct_bytes
    assert different == twice + struct_bytes + -(-params.filter.nbytes // 4) * 4


def test_no_choice_of_kernels_is_smaller() -> None:
    """Among all choices of drawn layers that have no more code than the one that is known."""
    rng = random.Random(0)
    kinds = [
        ["kibi_conv2d_s8_3x3x1", "kibi_conv2d_s8_columns", "kibi_conv2d_s8"],
        ["kibi_depthwise_conv2d_s8_3x3", "kibi_depthwise_conv2d_s8_columns", "kibi_depthwise_conv2d_s8"],
        ["kibi_fully_connected_s8_blocks", "kibi_fully_connected_s8"],
    ]
    for _ in range(amount(40, 400)):
        layers = []
        for kernels in rng.choices(kinds, k=rng.randint(1, 4)):
            usable = [*rng.sample(kernels[:-1], rng.randint(0, len(kernels) - 1)), kernels[-1]]
            shared = rng.randrange(3)
            layers.append(tuple(_Option(kernel, frozenset(), _arrays(kernel, shared, rng), 40) for kernel in usable))
        known = tuple(rng.choice(options) for options in layers)
        model = _Model(tuple(layers), frozenset(), _code_bytes(known, frozenset()))
        found = min((model.refined(each) for each in (model.smallest(), known)), key=model.excess)
        assert model.excess(found) == min(map(model.excess, product(*layers)))
        assert _code_bytes(found, frozenset()) <= model.most_code_bytes


def test_where_choices_are_too_many_the_best_of_each_kind_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kinds of layers are then looked at one after another, and the shipped model gets the same kernels."""
    calls, core = kibi.load(kibi.demo.model_path()).general_calls, target("cortex-m4")
    expected = choose(calls, core, Goal.FLASH)
    monkeypatch.setattr(least_flash, "_MOST_COMPARED", 1)
    assert [each.kernel for each in choose(calls, core, Goal.FLASH)] == [each.kernel for each in expected]


def test_a_custom_operator_needs_no_kernel_of_its_own_for_a_choice() -> None:
    """A model with one is planned for the least flash before anybody has written its kernel."""
    graph = kibi.load(kibi.demo.model_path())
    calls = (*graph.general_calls, KernelCall("kibi_nobody_has_written_this"))
    assert choose(calls, target("cortex-m4"), Goal.FLASH)[-1] is calls[-1]


def test_what_other_layers_pay_for_is_taken() -> None:
    """A layer runs on the kernel of others where its own one would cost more than it saves."""
    graph = kibi.load(kibi.demo.model_path())
    small = choose(graph.general_calls, target("cortex-m4"), Goal.FLASH)
    general = [number for number, call in enumerate(graph.general_calls) if call.kernel == "kibi_conv2d_s8"]
    assert len({small[number].kernel for number in general}) == 1 < len(general)


@pytest.mark.slow
def test_the_shipped_model_takes_no_more_flash_than_with_balanced_code() -> None:
    """Neither in code nor in all."""
    graph = kibi.load(kibi.demo.model_path())
    small, balanced = (_sizes(graph, goal) for goal in ("flash", "balanced"))
    assert small[0] < balanced[0]
    assert small[1] < balanced[1]


@pytest.mark.slow
@requires_zoo
def test_no_real_model_takes_more_flash_than_with_balanced_code() -> None:
    """All models of the zoo that Kibi runs, with each goal."""
    tried, worse = 0, list[str]()
    for path in sorted((zoo_path() / "models").glob("*.tflite")):
        try:
            graph = kibi.simplify(kibi.load(path))
        except kibi.KibiError:
            continue
        small, balanced = (_sizes(graph, goal) for goal in ("flash", "balanced"))
        tried += 1
        if small[0] > balanced[0] or small[1] > balanced[1]:
            worse.append(f"{path.stem}: {small} against {balanced}")
    assert tried
    assert not worse


@requires_zoo
def test_the_model_of_a_wake_word_takes_no_more_flash_than_with_balanced_code() -> None:
    """One whose convolutions are all of one column: general kernels for single layers would be 3 kB more."""
    graph = kibi.simplify(kibi.load(model_path("mww_v2_okay_nabu")))
    small, balanced = (_sizes(graph, goal) for goal in ("flash", "balanced"))
    assert small[0] <= balanced[0]
    assert small[1] < balanced[1]


@pytest.mark.slow
def test_code_sizes_are_as_recorded() -> None:
    """A change of kernels writes the record anew."""
    command = [sys.executable, "benchmarks/code_sizes.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert not done.returncode, f"{done.stdout}\n{done.stderr}"
