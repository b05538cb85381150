"""The model that Kibi ships, planned and measured once for all tests of reports."""

from typing import Any

import pytest

import kibi
from kibi import demo
from kibi.pages.machine import machine_record
from kibi.pages.measured import MeasuredModel, measured_model
from kibi.pages.record import report_record
from kibi.passes import simplify
from kibi.targets import target


@pytest.fixture(scope="session")
def glyphs() -> MeasuredModel:
    """The shipped model, planned by the row for a Cortex-M4."""
    simplified = simplify(kibi.load(demo.model_path()))
    return measured_model(simplified, kibi.plan(simplified.graph), target("cortex-m4"), oracle=False)


@pytest.fixture(scope="session")
def glyphs_record(glyphs: MeasuredModel) -> dict[str, Any]:
    """Its record, without another model to compare with."""
    return report_record(glyphs)


@pytest.fixture(scope="session")
def glyphs_machine(glyphs: MeasuredModel) -> dict[str, Any]:
    """The model itself, for its page."""
    return machine_record(glyphs, demo.labels)
