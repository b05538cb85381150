"""Kernels with nothing but the parts that a call needs give the reference's bits."""

import re
from pathlib import Path

import numpy as np
import pytest

import kibi
import kibi.demo
from kibi.codegen.library import FEATURE
from kibi.ir import NodeView
from kibi.kernels import closure
from tests.kernels.emulated import linked, run
from tests.kernels.on_core import ARMV7EM
from tests.ops.comparison import assert_same, graph_of
from tests.support.amount import amount
from tests.support.operator_models import s8_case

_OPERATORS = ("AVERAGE_POOL_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "LOGISTIC", "MAX_POOL_2D", "MEAN", "MUL")
_DRAWN = amount(24, 400)
_OF_EACH = amount(1, 20)
"""Calls of a kernel with the same parts that are tried."""


def _parts_of(kernel: str) -> frozenset[str]:
    """The macros of all parts of a kernel's files."""
    texts = closure(frozenset({kernel}), ARMV7EM).values()
    return frozenset(part for text in texts for part in FEATURE.findall(text.text))


def _choices(view: NodeView) -> set[tuple[str, frozenset[str]]]:
    """The kernel with the parts that its call needs, and with those that it needs where the least flash is the goal."""
    call = view.op.kernel_call(view)
    least = call.features if call.least_features is None else call.least_features
    assert call.features | least <= _parts_of(call.kernel)
    return {(call.kernel, call.features), (call.kernel, least)}


@pytest.mark.share(2, part=1)
@pytest.mark.parametrize("operator", _OPERATORS)
def test_kernel_with_the_parts_that_a_call_needs_gives_the_right_bits(operator: str) -> None:
    """Whatever is left out, and with all parts that other layers may have asked for."""
    tried = dict[tuple[str, frozenset[str]], int]()
    for seed in range(_DRAWN):
        case = s8_case(operator, seed)
        graph = graph_of(case)
        view = graph.views[-1]
        by_tensor = dict(zip(graph.inputs, case.inputs, strict=True))
        if not {tensor.index for tensor in view.row_tensors} <= {*by_tensor}:
            continue
        inputs = [by_tensor[tensor.index] for tensor in view.row_tensors]
        for kernel, features in _choices(view):
            tried[kernel, features] = count = tried.get((kernel, features), 0) + 1
            if count > _OF_EACH:
                continue
            for parts in (features, None):
                found = run(
                    linked((kernel,), "cortex-m4", "zig", "s", parts), view, inputs, np.random.default_rng(seed)
                )
                assert_same(graph, [found], kibi.run(graph, None, case.inputs))
    assert len(tried) > 1


def test_library_for_the_least_flash_leaves_out_what_only_saves_instructions(tmp_path: Path) -> None:
    """The shipped model pools by two and by two, four channels at once; its library for the least flash does so one by one."""
    graph, left_out = kibi.load(kibi.demo.model_path()), {}
    for goal in ("balanced", "flash"):
        kibi.compile(graph, kibi.plan(graph, "cortex-m4", goal=goal), tmp_path / goal)
        header = (tmp_path / goal / "kernels" / "kibi.h").read_text(encoding="utf-8")
        names = re.findall(r"#define (KIBI_(?:MAX_POOL2D_S8|ADD_COLUMNS_S8|MEAN_S8)_\w+) 0", header)
        left_out[goal] = {name.removeprefix("KIBI_") for name in names}
    assert left_out == {
        "balanced": {
            "ADD_COLUMNS_S8_OF_SINGLES", "MAX_POOL2D_S8_OF_FOURS", "MAX_POOL2D_S8_OF_SINGLES", "MEAN_S8_OF_ANY_AXES",
        },
        "flash": {"ADD_COLUMNS_S8_OF_FOURS", "MAX_POOL2D_S8_OF_FOURS", "MAX_POOL2D_S8_OF_TWO_BY_TWO"},
    }  # fmt: skip
