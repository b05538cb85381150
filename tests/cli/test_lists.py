"""`kibi targets` and `kibi operators` tell what the registries hold."""

import kibi as api
from kibi.ops import operators
from tests.cli.conftest import Kibi


def test_targets_lists_every_target(kibi: Kibi) -> None:
    """Each target has a line, and a record with its facts."""
    text, record = kibi("targets").out, kibi("targets", "--json").record
    names = [target.name for target in api.targets()]
    assert [line.split()[0] for line in text.splitlines()[1 : len(names) + 1]] == names
    assert [target["name"] for target in record["targets"]] == names
    default = next(target for target in record["targets"] if target["is_default"])
    assert (default["name"], default["clock_hz"], default["has_fpu"]) == ("cortex-m4", 120_000_000, True)


def test_operators_lists_every_operator(kibi: Kibi) -> None:
    """Name, types, kernels and what it computes are the registry's own."""
    text, record = kibi("operators").out, kibi("operators", "--json").record
    assert [operator["name"] for operator in record["operators"]] == list(operators())
    for operator in record["operators"]:
        known = operators()[operator["name"]]
        assert operator["kernels"] == list(known.kernels)
        assert operator["types"] == [str(kind) for kind in known.types]
        assert operator["description"]
        assert operator["description"] in text
    assert f"{len(operators())} operators" in text
    assert [each["name"] for each in record["decoded_operators"]] == ["TFLM_DECODE"]
    assert "And TFLM_DECODE. Constants behind look-up tables" in text
