"""The weights of a model as they are stored in slow memory, and where each window's bytes begin there."""

from dataclasses import dataclass

from kibi.ir import Graph
from kibi.ops.control.fetch_weights import FetchWeights


@dataclass(frozen=True, slots=True)
class StoredWeights:
    """The content of a file for slow memory.

    Attributes:
        content: all bytes; windows with the same bytes are stored once.
        offsets: where the content of each FETCH_WEIGHTS node begins, by the node's number.
    """

    content: bytes
    offsets: dict[int, int]

    @staticmethod
    def of(graph: Graph) -> "StoredWeights":
        """The weights of a planned graph; empty where they are constants."""
        content, known, offsets = bytearray(), dict[bytes, int](), {}
        for number, node in enumerate(graph.nodes):
            if isinstance(node.op, FetchWeights):
                window = node.op.content
                if window not in known:
                    known[window] = len(content)
                    content += window
                offsets[number] = known[window]
        return StoredWeights(bytes(content), offsets)
