"""Graphs from text: `docs/graph-text.md` has the form."""

from kibi.ir import Graph, verify
from kibi.ir.text import parse_graph
from kibi.ops.registry import operators_by_name


def parse_text(text: str, source: str = "text") -> Graph:
    """Returns the graph that a text describes, verified.

    Args:
        text: as `graph_text` of `kibi.ir.text` prints it, with elements.
        source: what errors call the text.

    Raises:
        InputError: the text does not have the form; with the line.
        ModelError: the graph breaks a rule; with all problems that were found.
    """
    return verify(parse_graph(text, operators_by_name(), source))
