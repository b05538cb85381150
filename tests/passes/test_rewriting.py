"""What rewriting a graph costs."""

import pytest

import kibi
from kibi.dtypes import DType
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Node, NodeView
from kibi.passes.rewriting import Draft

_QUANTIZATION = (0.05, 3)


def test_operators_that_all_vanish_are_looked_at_a_few_times_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 500 RESHAPEs each is found once: an edit costs what it touches, not the whole graph."""
    count = 500
    b = ModelBuilder()
    x = b.input([1, 8], DType.S8, *_QUANTIZATION)
    for _ in range(count):
        y = b.tensor([1, 8], DType.S8, *_QUANTIZATION)
        b.operator("RESHAPE", [x], [y], new_shape=[1, 8])
        x = y
    z = b.tensor([1, 8], DType.S8, *_QUANTIZATION)
    b.operator("RELU", [x], [z])
    graph = parse_tflite(b.finish([z]), "chain.tflite")
    looked: list[Node] = []
    view_of = Draft.view_of

    def watched(draft: Draft, node: Node) -> NodeView:
        looked.append(node)
        return view_of(draft, node)

    monkeypatch.setattr(Draft, "view_of", watched)
    assert [node.op.name for node in kibi.simplify(graph).nodes] == ["RELU"]
    assert len(looked) < 20 * count
