"""What reading a file may take: a small one can ask for any number of elements and nodes."""

from dataclasses import dataclass

from kibi.errors import ModelError, Problem

MOST_NODES = 10_000
"""Nodes of graphs within nodes, as often as they are read, and of iterations of loops that become nodes."""


@dataclass(slots=True)
class Budget:
    """What may still be computed or made.

    Attributes:
        path: of the file, for errors.
        elements: of constants that are computed.
        nodes: of graphs within nodes, and of what replaces nodes.
    """

    path: str
    elements: float
    nodes: int

    def take(self, elements: float) -> bool:
        """Takes elements, and returns True, if there are so many."""
        if elements > self.elements:
            return False
        self.elements -= elements
        return True

    def take_nodes(self, count: int) -> bool:
        """Takes nodes, and returns True, if there are so many."""
        if count > self.nodes:
            return False
        self.nodes -= count
        return True

    def need_nodes(self, count: int) -> None:
        """Takes nodes.

        Raises:
            ModelError: there are not so many.
        """
        if not self.take_nodes(count):
            what = f"its branches and loops have more than {MOST_NODES:,} nodes where they run"
            raise ModelError(self.path, [Problem(what, "Export a smaller model")])
