"""Lets the model's inputs arrive row by row."""

from dataclasses import replace

from kibi.ir import Graph, Node, verify
from kibi.ops.control.stream_input import StreamInput


def stream_inputs(graph: Graph) -> Graph:
    """Adds a node for each input that receives its rows; the model's inputs stay its inputs.

    These nodes come first, in the order of the inputs. A graph whose inputs stream already is returned unchanged.
    """
    receivers = tuple(
        Node(StreamInput(), (), (index,), source=-1 - number)
        for number, index in enumerate(graph.inputs)
        if index not in graph.streamed_inputs
    )
    return verify(replace(graph, nodes=(*receivers, *graph.nodes))) if receivers else graph
