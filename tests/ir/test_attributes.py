"""Whole numbers among attributes that no kernel holds."""

from dataclasses import fields, replace

import pytest

from kibi.errors import ModelError
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph, verify
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS


def _changed(graph: Graph, number: int) -> list[tuple[str, Graph]]:
    """For each whole number among the attributes of a graph's nodes, the graph with another in its place."""
    made = []
    for place, node in enumerate(graph.nodes):
        for field in fields(node.op):  # type: ignore[arg-type]  # operators are dataclasses
            value = getattr(node.op, field.name)
            entries = value if isinstance(value, tuple) else (value,)
            if entries and all(type(each) is int for each in entries):
                other = (number,) * len(entries) if isinstance(value, tuple) else number
                nodes = list(graph.nodes)
                nodes[place] = replace(node, op=replace(node.op, **{field.name: other}))  # type: ignore[type-var]
                made.append((field.name, replace(graph, nodes=tuple(nodes))))
    return made


@pytest.mark.parametrize("number", [1 << 31, -(1 << 31) - 1, 10**400])
def test_attribute_beyond_32_bits_is_a_problem_of_the_model(number: int) -> None:
    """Of every operator that has such an attribute."""
    names = set()
    for make in OPERATOR_MODELS.values():
        for name, graph in _changed(parse_tflite(make(Seeded(1)).model, "m.tflite"), number):
            with pytest.raises(ModelError, match=f"{name} is .* which 32 bits do not hold"):
                verify(graph)
            names.add(name)
    assert names >= {"stride", "dilation", "axis", "block_size", "delay_length", "output_scale"}
