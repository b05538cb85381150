"""Outputs that no operator makes: in a graph without operators they are copied, so that there is something to plan and to run."""

from collections.abc import Mapping, Sequence

from kibi.ir import Node, Tensor
from kibi.ops import Reshape


def with_copies(
    tensors: Mapping[int, Tensor], nodes: Sequence[Node], outputs: Sequence[int], count: int
) -> tuple[dict[int, Tensor], list[Node], tuple[int, ...]]:
    """Tensors, nodes and outputs of a graph that has nodes: where it has none, a RESHAPE copies each output.

    The outputs of such a graph are inputs and constants, some of them perhaps several times. TFLM runs it.

    Args:
        tensors: by index.
        nodes: in order.
        outputs: of the graph.
        count: the least index that no tensor has.
    """
    known = dict(tensors)
    if nodes or not all(index in known and not known[index].is_state for index in outputs):
        return known, list(nodes), tuple(outputs)
    copies = []
    for number, index in enumerate(outputs):
        source, made = known[index], count + number
        name = f"{source.name}, copy {number}" if outputs.count(index) > 1 else f"{source.name}, copy"
        known[made] = Tensor(made, name, source.type)
        copies.append(Node(Reshape(), (index,), (made,), number))
    return known, copies, tuple(node.outputs[0] for node in copies)
