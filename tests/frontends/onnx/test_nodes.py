"""ONNX's own tests of single operators: each is computed as ONNX says, or refused for a reason that is listed."""

import re

import numpy as np
import pytest

from kibi.errors import ModelError
from kibi.frontends.onnx.lowering.registry import LOWERINGS
from kibi.frontends.onnx.rewriting import REWRITTEN
from tests.frontends.onnx.node_cases import FOLDED, REFUSED, NodeCase, cases_of, modules
from tests.frontends.onnx.running import run_onnx
from tests.support.amount import amount

_CLAIMED = frozenset(LOWERINGS) | {name for _, name in REWRITTEN}
# ONNX computes what these are to give in slow Python, seconds for each.
_SLOW = ("averagepool", "lppool", "maxpool")
_NAMED = {"rangeop": "range"}
_MODULES = [
    name for name in modules() if _NAMED.get(name, name).replace("_", "") in {name.lower() for name in _CLAIMED}
]


@pytest.mark.share(2, part=1)
@pytest.mark.parametrize(
    "module", [pytest.param(name, marks=[pytest.mark.slow] if name in _SLOW else []) for name in _MODULES]
)
def test_operator_computes_what_onnx_says_or_is_refused_for_a_listed_reason(module: str) -> None:
    """Of each operator that the reader claims; the first inputs are computed, and only the others constants."""
    claimed = [case for case in cases_of(module) if _operators(case) <= _CLAIMED]
    most = amount(2, len(claimed))
    assert claimed
    for case in claimed[:: max(len(claimed) // most, 1)]:
        reason = _reason(case)
        if reason is None:
            _check(case)
        else:
            refusal = _refusal(case)
            assert refusal is not None, f"{case.name} is not refused any more"
            assert re.search(reason, str(refusal)), f"{case.name}: {refusal}"


def test_operators_that_the_reader_claims_have_tests_of_onnx() -> None:
    """All but those of ONNX Runtime's own domain, and one of which ONNX has none."""
    tested = {_NAMED.get(name, name).replace("_", "") for name in _MODULES}
    assert {name for name in LOWERINGS if name.lower() not in tested} == {"GlobalLpPool"}


def _operators(case: NodeCase) -> set[str]:
    return {node.op_type for node in case.model.graph.node}


def _reason(case: NodeCase) -> str | None:
    name = case.name.removeprefix("test_")
    return next((reason for pattern, reason in REFUSED.items() if re.fullmatch(pattern, name)), None)


def _tries(case: NodeCase) -> list[int]:
    """How many inputs are computed: all, or as few as needed."""
    count = len(case.inputs)
    return [count, *(each for each in (2, 1, 3) if each < count), *([0] if _operators(case) <= FOLDED else [])]


def _refusal(case: NodeCase) -> ModelError | None:
    refusals = []
    for first in _tries(case):
        model, inputs = case.with_constants(first)
        try:
            run_onnx(model, inputs, [output.dtype for output in case.outputs])
        except ModelError as error:
            refusals.append(error)
        else:
            return None
    return ModelError(case.name, [problem for each in refusals for problem in each.problems])


def _check(case: NodeCase) -> None:
    refusals = []
    for first in _tries(case):
        model, inputs = case.with_constants(first)
        try:
            got = run_onnx(model, inputs, [output.dtype for output in case.outputs])
        except ModelError as error:
            refusals.append(error)
            continue
        for mine, its in zip(got, case.outputs, strict=True):
            assert mine.shape == its.shape, case.name
            if its.dtype.kind in "fV":
                rtol = 1e-2 if its.dtype.itemsize < 4 else max(case.rtol, 1e-5)
                wanted = its.astype(np.float64)
                np.testing.assert_allclose(mine, wanted, rtol=rtol, atol=max(case.atol, 1e-5), err_msg=case.name)
            elif case.name.startswith("test_qlinear"):  # weights with a zero point may be rounded
                np.testing.assert_allclose(mine.astype(int), its.astype(int), atol=1, err_msg=case.name)
            else:
                np.testing.assert_array_equal(mine, its, err_msg=case.name)
        return
    pytest.fail(f"{case.name} is refused: {refusals[0]}")
