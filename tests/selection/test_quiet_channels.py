"""Channels of floats that are constants while the input is small."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import kibi
from kibi.engines import HostEngine
from kibi.engines.plan_numpy import NumpyPlanEngine
from kibi.kernels.params.convolution_lanes import Conv2DF32LanesParams
from kibi.planfile.reader import PlanFile
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel
from kibi.selection import Goal, select
from kibi.selection.quiet_channels import QuietChannels, quiet_channels
from kibi.targets import target
from tests.ops.comparison import graph_of
from tests.ops.convolutions import Geometry, convolution_f32

_HOST = target("host")


def _drawn(seed: int, clamps: tuple[float, float]) -> tuple[NDArray[np.float32], NDArray[np.float32], QuietChannels]:
    """Weights of all magnitudes, biases of all kinds, and what is found quiet."""
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((96, 40)) * 10.0 ** rng.integers(-30, -8, (96, 1))
    weights[rng.random(96) < 0.2] *= 1e25
    bias = rng.standard_normal(96) * 10.0 ** rng.integers(-9, 3, 96)
    bias[::7] = 2.0 ** rng.integers(-20, 4, len(bias[::7]))
    bias[::17] = 0
    found = quiet_channels(weights.astype(np.float32), bias.astype(np.float32), clamps)
    assert found is not None
    return weights.astype(np.float32), bias.astype(np.float32), found


@pytest.mark.parametrize("clamps", [(-3e38, 3e38), (0.0, 3e38), (0.0, 6.0), (-1.0, 1.0)])
def test_quiet_channels_are_constants_for_any_input_within_the_limit(clamps: tuple[float, float]) -> None:
    """Inputs at the limit, of the signs that make the greatest sums, and drawn ones: each product and sum is rounded by itself."""
    low, high = (np.float32(each) for each in clamps)
    for seed in range(6):
        weights, bias, found = _drawn(seed, clamps)
        quiet = found.order[found.loud :]
        assert sorted(found.order) == list(range(96))
        assert found.loud % 16 == 0
        assert found.limit >= 4000
        rng = np.random.default_rng(seed)
        for channel in quiet.tolist():
            signs = np.sign(weights[channel]).astype(np.float32)
            greatest = np.float32(found.limit) * signs
            drawn = (rng.uniform(-1, 1, 40) * found.limit).astype(np.float32)
            for given in (greatest, -greatest, drawn, np.zeros(40, np.float32)):
                total = np.float32(0)
                for weight, element in zip(weights[channel], given, strict=True):
                    total = np.float32(total + np.float32(weight * element))
                made = min(max(np.float32(total + bias[channel]), low), high)
                assert np.float32(made).tobytes() == found.constants[channel].tobytes()


def test_channels_that_a_large_input_changes_are_not_quiet() -> None:
    """A weight is too large when an input of 4096 could move the bias by half a step; biases of zero are moved by anything."""
    bias = np.ones(32, np.float32)
    step = float(np.float32(1) - np.nextafter(np.float32(1), np.float32(0)))
    weights = np.zeros((32, 1), np.float32)
    weights[16:] = 0.9 * step / 2 / 4096
    found = quiet_channels(weights, bias, (-3e38, 3e38))
    assert found is not None
    assert found.loud == 16
    assert 4096 <= found.limit < 5000
    weights[:] = 1.1 * step / 2 / 4096
    assert quiet_channels(weights, bias, (-3e38, 3e38)) is None
    assert quiet_channels(np.full((32, 1), 1e-30, np.float32), np.zeros(32, np.float32), (-3e38, 3e38)) is None


def test_few_quiet_channels_are_computed() -> None:
    """A block of sixteen of many is worth nothing; nor is what does not fill one."""
    weights = np.ones((160, 4), np.float32)
    bias = np.ones(160, np.float32)
    weights[:16] = 1e-30
    assert quiet_channels(weights, bias, (-3e38, 3e38)) is None
    weights[:40] = 1e-30
    found = quiet_channels(weights, bias, (-3e38, 3e38))
    assert found is not None
    assert found.loud == 128
    assert quiet_channels(weights[:16], bias[:16], (-3e38, 3e38)) is None


@pytest.mark.parametrize(
    "geometry", [Geometry(4, 70, kernel=(1, 1), size=(2, 5)), Geometry(3, 49, size=(4, 6), padding="SAME")]
)
@pytest.mark.parametrize("activation", ["NONE", "RELU", "RELU6"])
def test_each_engine_gives_the_same_bits_for_any_input(geometry: Geometry, activation: str, tmp_path: Path) -> None:
    """Small inputs, large ones, infinite ones and what is no number; also from a plan file."""
    case = convolution_f32(geometry, 2, activation, 1e-30)
    graph = graph_of(case)
    assert select(graph, _HOST, Goal.BALANCED).calls[0].params_as(Conv2DF32LanesParams).loud_channels > 0
    engine = HostEngine(kibi.compile(graph, kibi.plan(graph, "host"), tmp_path, target="host"))
    small = case.inputs[0].astype(np.float32)
    inputs = [small, small * np.float32(1e30)]
    for value in (np.nan, np.inf, -np.inf, 1e38):
        changed = small.copy()
        changed.flat[7] = value
        inputs.append(changed)
    plan = kibi.plan(graph, "host")
    file = NumpyPlanEngine(PlanFile(plan_file(PlannedModel.of(graph, plan))))
    general = kibi.plan(graph, "host", goal="flash")
    for given in inputs:
        (wanted,) = kibi.run(graph, general, [given])
        for (made,) in (engine.run([given]), file.run([given])):
            np.testing.assert_array_equal(made, wanted)
            numbers = ~np.isnan(wanted)
            assert (np.signbit(made) == np.signbit(wanted))[numbers].all()
