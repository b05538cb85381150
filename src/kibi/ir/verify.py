"""Verification: a graph that passes can be planned, run and compiled."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from kibi.dtypes import DType
from kibi.errors import ModelError, Problem
from kibi.ir.attributes import check_attributes
from kibi.ir.early_exit import early_exits
from kibi.ir.graph import Graph, Node, NodeView
from kibi.ir.operator import OperatorError
from kibi.ir.state_updates import overwrite_problems, version_problems
from kibi.ir.text.printing import node_text

_MOST_BODIES = 1024
_MOST_BODY_OPERATORS = 16_384
"""Graphs inside of operators, and the operators in these, each counted as often as it is run: a plan lists them so."""
_MOST_STEPS = 1 << 17
"""Row steps of a node in a graph with variables, and rows that it reads: each step is compared with those of other nodes."""
_REMEDY = "Quantize the model again with representative data"


def verify(graph: Graph) -> Graph:
    """Returns the graph itself if every rule holds.

    Raises:
        ModelError: with all problems that were found.
    """
    problems = tuple(_structure(graph))
    if not problems:
        problems = tuple(
            replace(problem, line=node_text(graph, node)) for node in graph.nodes for problem in _node(graph, node)
        )
    if not problems:
        problems = tuple(_long_nodes(graph)) or tuple(overwrite_problems(graph))
    if problems:
        raise ModelError(graph.source, problems)
    return graph


def _long_nodes(graph: Graph) -> Iterator[Problem]:
    """Nodes of too many steps, or that use tensors of too many rows, to tell in which order variables are used and changed."""
    if not (graph.variables or early_exits(graph)):
        return
    for view in graph.views:
        most = max((view.steps, *(tensor.type.rows for tensor in view.row_tensors)))
        if most > _MOST_STEPS:
            what = f"{view.op.name}: {most} row steps or rows, in a model with variables; at most {_MOST_STEPS} are supported"
            yield Problem(what, "Check its shapes", view.node.source, view.output.name)


def _structure(graph: Graph) -> Iterator[Problem]:
    """Indices in range, one producer for each tensor, everything made before it is read."""
    count = len(graph.tensors)
    made = {tensor.index for tensor in graph.tensors if tensor.is_constant} | set(graph.inputs)
    if not graph.outputs:
        yield Problem("the model has no output, so it computes nothing", "Export it with at least one output tensor")
    for index in (*graph.inputs, *graph.outputs):
        if not 0 <= index < count:
            yield Problem(f"a model input or output is tensor {index}, but there are {count} tensors")
            return
    for index in graph.inputs:
        if graph.tensors[index].is_constant:
            yield Problem("a model input has constant data", tensor=graph.tensors[index].name)
    if len(set(graph.inputs)) != len(graph.inputs):
        yield Problem("a tensor is listed twice among the model's inputs")
    made -= set(graph.streamed_inputs)
    made |= {tensor.index for tensor in graph.tensors if tensor.is_variable}
    for index in (*graph.inputs, *graph.outputs):
        if graph.tensors[index].is_state:
            what = "a variable, which keeps its value between inferences, cannot be a model's input or output"
            yield Problem(what, "Export the model with an input of its own", tensor=graph.tensors[index].name)
    yield from _body_problems(graph)
    yield from _states(graph)
    yield from version_problems(graph)
    for node in graph.nodes:
        yield from _edges(graph, node, made)
        made.update(node.outputs)
    for index in graph.outputs:
        if index not in made:
            yield Problem("no operator makes this output of the model", tensor=graph.tensors[index].name)


def _body_problems(graph: Graph) -> Iterator[Problem]:
    """Bodies that are run from so many places that their number has no bound in the size of the file."""
    uses = graph.uses
    if uses.graphs > _MOST_BODIES or uses.operators > _MOST_BODY_OPERATORS:
        what = (
            f"its operators run subgraphs within subgraphs: {uses.graphs:,} with {uses.operators:,} operators, each counted as "
            f"often as it is run; at most {_MOST_BODIES:,} with {_MOST_BODY_OPERATORS:,} are supported"
        )
        yield Problem(what, "Let fewer operators run the same subgraphs")


def _states(graph: Graph) -> Iterator[Problem]:
    """A state belongs to the one node that changes it."""
    users = Counter(index for node in graph.nodes for index in node.inputs if index is not None)
    users.update(tensor.updates for tensor in graph.tensors if tensor.updates is not None)
    for node in graph.nodes:
        if node.op.states and len(node.inputs) <= len(node.op.inputs):
            names = dict(zip((name.rstrip("?") for name in node.op.inputs), node.inputs, strict=False))
            for index in (names.get(name) for name in node.op.states):
                if index is not None and users[index] > 1:
                    what = f"{node.op.name}: another operator uses the state of this one, which is not supported"
                    yield Problem(
                        what, "Give each operator a variable of its own", node.source, graph.tensors[index].name
                    )


def _edges(graph: Graph, node: Node, made: set[int]) -> Iterator[Problem]:
    count = len(graph.tensors)
    operands = [index for index in node.inputs if index is not None]
    for operand in (*operands, *node.outputs):
        if not 0 <= operand < count:
            yield Problem(f"operand is tensor {operand}, but there are {count} tensors", operator=node.source)
            return
    for operand in operands:
        if operand not in made:
            name = graph.tensors[operand].name
            what = "input is read before any operator makes it (a cycle, or operators out of order)"
            yield Problem(what, "Write the operators in the order in which they run", node.source, name)
    for index in node.outputs:
        if index in made:
            what = "output is already made by another operator, a constant, or a model input"
            yield Problem(what, operator=node.source, tensor=graph.tensors[index].name)


def types_made(graph: Graph, node: Node) -> tuple[tuple[tuple[int, ...], DType], ...]:
    """Returns the shape and type of each output of a node by the operator's rule, whatever the graph says of them.

    Raises:
        ModelError: the node breaks a rule of the operator.
    """
    if problems := tuple(_arity_problems(graph, node)):
        raise ModelError(graph.source, problems)
    view = NodeView.of(graph, node)
    try:
        return _checked(view)
    except OperatorError as error:
        raise ModelError(graph.source, [_problem(view, error)]) from error


def _node(graph: Graph, node: Node) -> Iterator[Problem]:
    problems = tuple(_arity_problems(graph, node))
    yield from problems or _types(NodeView.of(graph, node))


def _arity_problems(graph: Graph, node: Node) -> Iterator[Problem]:
    required = sum(not name.endswith("?") for name in node.op.inputs)
    made = sum(not name.endswith("?") for name in node.op.outputs)
    takes, gives = (required, len(node.op.inputs)), (made, len(node.op.outputs))
    if not takes[0] <= len(node.inputs) <= takes[1] or not gives[0] <= len(node.outputs) <= gives[1]:
        what = f"{node.op.name} takes {', '.join(node.op.inputs)} and gives {', '.join(node.op.outputs)}; "
        yield Problem(
            what + f"here are {len(node.inputs)} inputs and {len(node.outputs)} outputs", operator=node.source
        )
        return
    view = NodeView.of(graph, node)
    missing = [name for name in node.op.inputs if not name.endswith("?") and view.find(name) is None]
    if missing:
        yield Problem(f"{node.op.name} needs its input {', '.join(missing)}", operator=node.source)


def _types(view: NodeView) -> Iterator[Problem]:
    """Sizes first: nothing is made for an output before its declared shape is the one that the inputs give."""
    node = view.node
    try:
        inferred = _checked(view)
    except OperatorError as error:
        yield _problem(view, error)
        return
    if len(inferred) != len(view.outputs):
        what = f"{node.op.name}: it has {len(view.outputs)} outputs, but gives {len(inferred)}"
        yield Problem(what, "Export the model again; the file is damaged", node.source, view.output.name)
        return
    for name, output, (shape, dtype) in zip(view.output_names, view.outputs, inferred, strict=True):
        if output.type.shape != shape:
            what = f"{node.op.name}: {name} has shape {list(output.type.shape)}, its inputs give {list(shape)}"
            yield Problem(what, "", node.source, output.name)
        if output.type.dtype is not dtype:
            what = f"{node.op.name}: {name} has type {output.type.dtype}, its inputs give {dtype}"
            yield Problem(what, "", node.source, output.name)


def _checked(view: NodeView) -> tuple[tuple[tuple[int, ...], DType], ...]:
    check_attributes(view.op)
    _check_operands(view)
    return _inferred(view)


def _problem(view: NodeView, error: OperatorError) -> Problem:
    operand = None if error.operand is None else view.find(error.operand)
    name, source = view.op.name, view.node.source
    return Problem(f"{name}: {error.what}", error.remedy, source, operand.name if operand else None)


def _inferred(view: NodeView) -> tuple[tuple[tuple[int, ...], DType], ...]:
    """Returns the outputs' shapes and types by the operator's rule.

    A scale of 0 means that a tensor holds only 0; converters write it if they saw no other value. Multiplication by such a tensor
    is defined; division by it is not, in TFLM either.
    """
    operands = [tensor for _, tensor in view.operands if tensor is not None]
    zero = next((each for each in operands if each.type.quantization and 0.0 in each.type.quantization.scales), None)
    if zero is None:
        return _ruled(view)
    for name, made in zip(view.output_names, view.outputs, strict=True):
        if made.type.quantization is not None and 0.0 in made.type.quantization.scales:
            alike = [each for each in operands if each is not made and each.type.quantization == made.type.quantization]
            if not alike:
                what = f"{name} has scale 0, by which it divides; TFLM leaves that undefined"
                raise OperatorError(what, _REMEDY, name)
    try:
        with np.errstate(divide="raise", invalid="raise"):
            return _ruled(view)
    except (ZeroDivisionError, FloatingPointError):
        what = f"it divides by a scale of 0, that of {zero.name!r}; TFLM leaves that undefined"
        raise OperatorError(what, _REMEDY) from None


def _ruled(view: NodeView) -> tuple[tuple[tuple[int, ...], DType], ...]:
    """Returns the inferred shape and type of each output; if they equal the declared ones, runs the operator's full check."""
    inferred = view.inferred()
    if inferred == view.declared:
        view.op.check_in_full(view)
    return inferred


def _check_operands(view: NodeView) -> None:
    """Types that are supported; constants where the kernel packs them ahead of time."""
    op = view.op
    if not op.inputs:
        return
    first = view[op.inputs[0]]
    if first.type.dtype not in op.types:
        supported = ", ".join(str(dtype) for dtype in op.types)
        what = f"input of type {first.type.dtype} is not supported; supported: {supported}"
        if cause := op.undefined.get(first.type.dtype):
            what = f"{what}; what TFLM makes of it is undefined: {cause}"
        wanted = " or ".join(str(dtype) for dtype in op.types)
        remedy = "Quantize the model to int8" if DType.S8 in op.types else f"Give it an input of type {wanted}"
        raise OperatorError(what, remedy, op.inputs[0])
    for each in (*view.row_tensors, *view.outputs):
        if each.type.elements > op.most_elements:
            what = f"a tensor of {each.type.elements} elements is more than it takes; at most {op.most_elements}"
            raise OperatorError(what, "Check the shapes")
    for name in (name.rstrip("?") for name in op.inputs):
        tensor = view.find(name)
        if tensor is not None and name in op.states:
            if not tensor.is_variable:
                raise OperatorError(f"{name} must be a variable", "Export the model again; the file is damaged", name)
        elif tensor is not None and name not in op.row_inputs and not tensor.is_constant:
            raise OperatorError(f"{name} must be a constant", "Export the model with frozen weights", name)
