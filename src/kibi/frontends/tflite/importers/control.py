"""Importers of operators that run subgraphs."""

from collections.abc import Mapping

from kibi.frontends.tflite.importers.base import Importer, OptionsError
from kibi.frontends.tflite.reader import Options
from kibi.ir import Graph, Operator
from kibi.ops import If, While


def _body(options: Options, name: str, what: str) -> Graph:
    """A subgraph that has no memory of its own.

    Raises:
        OptionsError: it has.
    """
    graph = options.graph(name)
    variables = [graph.tensors[index].name for index in graph.variables]
    if variables:
        text = f"{what} has variables ({', '.join(variables)}), which is not supported inside of control flow"
        raise OptionsError(text, "Pass what is remembered as inputs and outputs of the operator")
    return graph


def _if(options: Options) -> Operator:
    return If(
        then_body=_body(options, "ThenSubgraphIndex", "the branch taken"),
        else_body=_body(options, "ElseSubgraphIndex", "the branch otherwise taken"),
    )


def _while(options: Options) -> Operator:
    return While(
        condition=_body(options, "CondSubgraphIndex", "the condition"),
        body=_body(options, "BodySubgraphIndex", "the body"),
    )


CONTROL: Mapping[str, Importer] = {
    "IF": Importer(_if, "IfOptions"),
    "WHILE": Importer(_while, "WhileOptions"),
}
"""By the schema's name of the operator."""
