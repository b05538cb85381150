"""Helpers of the lossless passes: who makes and reads tensors, and how nodes are taken out of a graph."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from kibi.errors import InternalError
from kibi.ir import Graph, Node, NodeView, OperatorError, Tensor, subgraphs_within, verify
from kibi.passes.change import Change

Edit = Mapping[int, Node | None]
"""New nodes by place; None removes the node. All other places stay unchanged."""


class Draft:
    """A graph while a pass rewrites it. The cost of an edit depends on the edit alone, not on the size of the graph.

    Attributes:
        graph: the original graph.
        nodes: the nodes by place; None where one was removed. Places never change.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: list[Node | None] = list(graph.nodes)
        self._seen = frozenset(graph.outputs)
        self._makers = {index: place for place, node in enumerate(graph.nodes) for index in node.outputs}
        self._readers: dict[int, dict[int, None]] = {}
        self._views: dict[int, NodeView] = {}
        self._sorted: dict[int, tuple[int, ...]] = {}
        self._weights: dict[tuple[str, int], int] = {}
        for place, node in enumerate(graph.nodes):
            for index in _read(node):
                self._readers.setdefault(index, {})[place] = None
            for key in self._weights_of(node):
                self._weights[key] = self._weights.get(key, 0) + 1

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All tensors; `tensors[i].index == i`."""
        return self.graph.tensors

    def node(self, place: int) -> Node:
        """The node at a place."""
        node = self.nodes[place]
        if node is None:
            raise InternalError(f"the node at place {place} is gone")
        return node

    def view(self, place: int) -> NodeView:
        """The node at a place with its tensors."""
        if place not in self._views:
            self._views[place] = self.view_of(self.node(place))
        return self._views[place]

    def view_of(self, node: Node) -> NodeView:
        """Returns a view of any node with tensors of this graph."""
        return NodeView.of(self.graph, node)

    def readers(self, tensor: int) -> tuple[int, ...]:
        """The places of the nodes that read a tensor, ascending."""
        if tensor not in self._sorted:
            self._sorted[tensor] = tuple(sorted(self._readers.get(tensor, ())))
        return self._sorted[tensor]

    def maker(self, tensor: int) -> int | None:
        """The place of the node that makes a tensor; None for inputs, constants and variables."""
        return self._makers.get(tensor)

    def is_inner(self, tensor: int) -> bool:
        """True if a tensor may be removed: a node makes it and only nodes read it."""
        found = self.tensors[tensor]
        return tensor in self._makers and not (tensor in self._seen or found.is_external or found.is_state)

    def apply(self, edit: Edit) -> tuple[int, int]:
        """Replaces or removes the nodes at some places.

        Returns:
            The multiply-accumulates and the bytes of constants that are saved.
        """
        before = [node for place in edit if (node := self.nodes[place]) is not None]
        after = [node for node in edit.values() if node is not None]
        macs = sum(node.op.macs(self.view_of(node)) for node in before) - sum(
            node.op.macs(self.view_of(node)) for node in after
        )
        saved_bytes = 0
        for place, fresh in edit.items():
            old = self.nodes[place]
            if fresh is not None:
                saved_bytes -= self._link(place, fresh, old)
            if old is not None:
                saved_bytes += self._unlink(place, old, fresh)
            self.nodes[place] = fresh
            self._views.pop(place, None)
        # Nodes may swap outputs: a tensor that one gave up, another one makes.
        self._makers |= {index: place for place, node in edit.items() if node is not None for index in node.outputs}
        return macs, saved_bytes

    def _link(self, place: int, node: Node, old: Node | None) -> int:
        """Records what a new node reads; returns the bytes of constants that nobody read before."""
        for index in set(_read(node)) - set(_read(old) if old is not None else ()):
            self._readers.setdefault(index, {})[place] = None
            self._sorted.pop(index, None)
        added_bytes = 0
        for key, size_bytes in self._weights_of(node).items():
            added_bytes += 0 if self._weights.get(key) else size_bytes
            self._weights[key] = self._weights.get(key, 0) + 1
        return added_bytes

    def _unlink(self, place: int, node: Node, fresh: Node | None) -> int:
        """Forgets what a removed node read; returns the bytes of constants that nobody reads any more."""
        for index in set(_read(node)) - set(_read(fresh) if fresh is not None else ()):
            del self._readers[index][place]
            self._sorted.pop(index, None)
        for index in node.outputs:
            if self._makers.get(index) == place:
                del self._makers[index]
        gone_bytes = 0
        for key, size_bytes in self._weights_of(node).items():
            self._weights[key] -= 1
            gone_bytes += 0 if self._weights[key] else size_bytes
        return gone_bytes

    def _weights_of(self, node: Node) -> dict[tuple[str, int], int]:
        """Returns the bytes of each constant that a node reads, and the constant bytes of each graph inside the node."""
        read = (self.tensors[index] for index in _read(node))
        own = {("tensor", tensor.index): tensor.type.size_bytes for tensor in read if tensor.is_constant}
        return own | {("body", id(body)): body.own_weights_bytes for body in subgraphs_within([node])}

    def finished(self) -> Graph:
        """The graph, verified."""
        return verify(replace(self.graph, nodes=tuple(node for node in self.nodes if node is not None)))


Rule = Callable[[Draft, int], tuple[Edit, str] | None]
"""A function of a graph and a node's place. It returns an edit and a sentence about it, or None if the rule does not apply."""


def apply(graph: Graph, by: str, rule: Rule, *, from_the_end: bool = False) -> tuple[Graph, tuple[Change, ...]]:
    """Applies a rule at each node, and repeats it at the same place until it finds nothing there.

    Args:
        graph: a verified graph.
        by: the pass's name.
        rule: the rule. Each edit must leave fewer nodes, or shorter paths from the inputs, so that the repetition ends.
        from_the_end: true to begin at the last node.

    Returns:
        The new graph, verified, or the same one if the rule finds nothing; and the changes made.
    """
    changes: list[Change] = []
    draft = Draft(graph)
    places = range(len(graph.nodes))
    for place in reversed(places) if from_the_end else places:
        while (node := draft.nodes[place]) is not None and (found := rule(draft, place)) is not None:
            edit, what = found
            changes.append(Change(by, node.label, what, *draft.apply(edit)))
    return (draft.finished() if changes else graph), tuple(changes)


GraphRule = Callable[[Graph, int], tuple[Graph, Change] | None]
"""As `Rule`, for what changes tensors, too: it returns the whole new graph, verified, and the change."""


def apply_to_graph(graph: Graph, rule: GraphRule) -> tuple[Graph, tuple[Change, ...]]:
    """Applies such a rule at each node, from the first one on, and repeats it at the same place until it finds nothing there.

    Args:
        graph: a verified graph.
        rule: the rule. Each new graph must have fewer nodes, or leave less for the rule to find, so that the repetition ends.

    Returns:
        The new graph, or the same one if the rule finds nothing; and the changes made.
    """
    changes: list[Change] = []
    place = 0
    while place < len(graph.nodes):
        found = rule(graph, place)
        if found is None:
            place += 1
        else:
            graph, change = found
            changes.append(change)
    return graph, tuple(changes)


def _read(node: Node) -> Iterable[int]:
    """The tensors that a node reads."""
    return (index for index in node.inputs if index is not None)


def same_scale(one: Tensor, other: Tensor) -> bool:
    """True if the stored numbers of two tensors mean the same: type, scale and zero point are equal, bit by bit."""
    a, b = one.type.quantization, other.type.quantization
    if one.type.dtype is not other.type.dtype or (a is None) != (b is None):
        return False
    return a is None or b is None or (a.scales, a.zero_points) == (b.scales, b.zero_points)


def same_type(one: Tensor, other: Tensor) -> bool:
    """True if either tensor can replace the other: shape, element type and scale are equal."""
    return one.type.shape == other.type.shape and same_scale(one, other)


def row_input(node: Node) -> int | None:
    """Returns the only tensor that a node reads by the row; None if there are several, or none."""
    names = [name.rstrip("?") for name in node.op.inputs]
    given = dict(zip(names, node.inputs, strict=False))
    found = [index for name in node.op.row_inputs if (index := given.get(name)) is not None]
    return found[0] if len(found) == 1 else None


def reading(node: Node, old: int, new: int) -> Node:
    """Returns the node with an input replaced by another tensor."""
    return replace(node, inputs=tuple(new if index == old else index for index in node.inputs))


def is_accepted(graph: Draft, node: Node) -> bool:
    """True if the operator accepts these tensors, and its outputs have their declared types."""
    view = graph.view_of(node)
    try:
        return view.inferred() == view.declared
    except OperatorError:
        return False


def without_unread(graph: Draft, tensor: int, edit: Edit) -> Edit:
    """Extends an edit so that it also removes a tensor's maker, if nobody reads the tensor any more and it is no output."""
    place = graph.maker(tensor)
    if place is None or not graph.is_inner(tensor):
        return edit
    after = {**{reader: graph.nodes[reader] for reader in graph.readers(tensor)}, **edit, place: None}
    is_read = any(node is not None and tensor in node.inputs for node in after.values())
    return edit if is_read else {**edit, place: None}


def bypass(graph: Draft, place: int, source: int) -> Edit | None:
    """Removes a node whose output equals an earlier tensor, in every bit and in what the bits mean.

    Its readers read that tensor instead. If its output is visible from outside, that tensor's maker makes it.

    Args:
        graph: the graph.
        place: the place of the node.
        source: the index of the earlier tensor.

    Returns:
        The edit; None if both tensors are visible from outside, or if one is a variable's, whose value changes with time.
    """
    node = graph.node(place)
    (result,) = node.outputs
    if not same_type(graph.tensors[source], graph.tensors[result]):
        raise InternalError(f"{node.label} cannot be left out: tensors {source} and {result} differ in type")
    if graph.tensors[source].is_state or graph.tensors[result].is_state:
        return None
    changed: dict[int, Node | None]
    if graph.is_inner(result):
        changed = {reader: reading(graph.node(reader), result, source) for reader in graph.readers(result)}
        return {**changed, place: None}
    made = graph.maker(source)
    if made is None or not graph.is_inner(source):
        return None
    changed = {reader: reading(graph.node(reader), source, result) for reader in graph.readers(source)}
    return {**changed, made: replace(graph.node(made), outputs=(result,)), place: None}
