"""The argument of functions that take a model, checked by its kind."""

from kibi.errors import InputError
from kibi.ir.graph import Graph


def check_graph(model: object) -> None:
    """Checks that a model is a graph.

    Raises:
        InputError: it is something else, such as the path of its file.
    """
    if not isinstance(model, Graph):
        raise InputError(f"the model is {type(model).__name__}, not a graph. Give what `kibi.load` returns.")
