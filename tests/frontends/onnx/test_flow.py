"""If, Loop and Scan: branches and loops compute what ONNX Runtime does, and TFLM the same; what has no bounds is refused."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from kibi.errors import LimitError, ModelError
from kibi.frontends.onnx import budget, convert, flow
from kibi.frontends.onnx.graph import Numbers
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph
from kibi.ops import While
from kibi.tflm import Oracle
from tests.frontends.onnx.elsewhere import computed_elsewhere
from tests.frontends.onnx.flow_networks import flow_network
from tests.frontends.onnx.running import given, run, run_onnx, taken
from tests.support.amount import amount, share
from tests.support.choices import Seeded

_REALS, _INTEGERS, _TRUTHS = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def _value(name: str, kind: int, *shape: int | str) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def _model(nodes: list[Any], inputs: list[Any], outputs: list[Any], **constants: Numbers) -> Any:
    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "flow", inputs, outputs, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _graph(model: Any) -> Graph:
    return parse_tflite(convert(model.SerializeToString(), "model.onnx").data, "model.tflite")


def _names(graph: Graph) -> list[str]:
    return [view.op.name for view in graph.views]


def _refusal(model: Any) -> str:
    with pytest.raises(ModelError) as refusal:
        convert(model.SerializeToString(), "model.onnx")
    assert all(problem.remedy for problem in refusal.value.problems)
    return str(refusal.value)


def _same(model: Any, inputs: Mapping[str, Numbers]) -> None:
    wanted = computed_elsewhere(model, inputs)
    found = run_onnx(model, inputs, [each.dtype for each in wanted])
    for mine, its in zip(found, wanted, strict=True):
        assert mine.shape == its.shape
        np.testing.assert_allclose(mine, its, rtol=1e-5, atol=1e-6)


@pytest.fixture(params=["iterations", "loops"])
def unrolled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Short loops become the nodes of their iterations, or stay loops."""
    if request.param == "loops":
        monkeypatch.setattr(flow, "_MOST_UNROLLED", 0)
    return str(request.param)


@pytest.mark.usefixtures("unrolled")
@pytest.mark.parametrize("seed", share(range(amount(25, 300)), 1, amount(2, 1)))
def test_drawn_network_computes_what_onnx_runtime_does_and_tflm_the_same(seed: int, oracle: Oracle) -> None:
    """Branches and loops within one another, which take values from outside."""
    case = flow_network(Seeded(seed))
    conversion = convert(case.model.SerializeToString(), "model.onnx")
    graph = parse_tflite(conversion.data, "model.tflite")
    inputs = given(graph, conversion, case.inputs)
    outputs = run(graph, inputs)
    names = [output.name for output in case.model.graph.output]
    wanted = computed_elsewhere(case.model, case.inputs)
    for mine, its in zip(taken(conversion, names, outputs, [np.float32] * 2), wanted, strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-4, atol=1e-5)
    for mine, its in zip(outputs, oracle.run(conversion.data, [inputs])[0].outputs, strict=True):
        np.testing.assert_allclose(mine, np.asarray(its, np.float32), rtol=1e-5, atol=1e-6)


def test_drawn_networks_have_all_kinds_of_flow() -> None:
    """So that the test before this one means something."""
    found = set()
    for seed in range(25):
        waiting = [flow_network(Seeded(seed)).model.graph]
        while waiting:
            for node in waiting.pop().node:
                found |= {node.op_type} if node.op_type in flow.CONTROL else set()
                waiting += [each.g for each in node.attribute if each.HasField("g")]
    assert found == flow.CONTROL


def _branches(then: Any, other: Any) -> Any:
    nodes = [
        helper.make_node("ReduceMean", ["image"], ["mean"], keepdims=0),
        helper.make_node("Greater", ["mean", "zero"], ["holds"]),
        helper.make_node("If", ["holds"], ["chosen"], then_branch=then, else_branch=other, name="choice"),
        helper.make_node("MaxPool", ["chosen"], ["y"], kernel_shape=[2, 2], strides=[2, 2]),
    ]
    inputs = [_value("image", _REALS, 1, 3, 4, 4), _value("shift", _REALS, 1, 3, 1, 1)]
    return _model(nodes, inputs, [_value("y", _REALS, 1, 3, "h", "w")], zero=np.array(0, np.float32))


def _convolved() -> Any:
    weights = np.random.default_rng(1).normal(size=(3, 3, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["image", "weights"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["then"]),
    ]
    outputs = [_value("then", _REALS, 1, 3, 4, 4)]
    return helper.make_graph(nodes, "then", [], outputs, [numpy_helper.from_array(weights, "weights")])


def _shifted(op: str = "Add") -> Any:
    node = helper.make_node(op, ["image", "shift"], ["else"])
    return helper.make_graph([node], "else", [], [_value("else", _REALS, 1, 3, 4, 4)])


@pytest.mark.parametrize("sign", [1, -1])
def test_branches_take_images_channels_last(sign: int) -> None:
    """What windows slide over is passed as it is stored; no axis moves."""
    model, rng = _branches(_convolved(), _shifted()), np.random.default_rng(3)
    image = sign * np.abs(rng.normal(size=(1, 3, 4, 4))).astype(np.float32)
    _same(model, {"image": image, "shift": rng.normal(size=(1, 3, 1, 1)).astype(np.float32)})
    graph = _graph(model)
    branches = [branch for view in graph.views for branch in view.op.subgraphs]
    assert len(branches) == 2
    assert not any("TRANSPOSE" in _names(each) for each in (graph, *branches))


def test_branches_with_equal_names_inside_have_names_of_their_own() -> None:
    """Both conditions are constants, so that both become nodes of the same graph."""
    inner = helper.make_graph(
        [helper.make_node("Relu", ["v"], ["t"]), helper.make_node("Neg", ["t"], ["u"])],
        "b",
        [],
        [_value("u", _REALS, 4)],
    )
    other = helper.make_graph([helper.make_node("Neg", ["w"], ["t"])], "b", [], [_value("t", _REALS, 4)])
    nodes = [
        helper.make_node("If", ["yes"], ["w"], then_branch=inner, else_branch=inner),
        helper.make_node("If", ["no"], ["y"], then_branch=inner, else_branch=other),
    ]
    model = _model(nodes, [_value("v", _REALS, 4)], [_value("y", _REALS, 4)], yes=np.array(True), no=np.array(False))
    x = np.array([1, -2, 3, -4], np.float32)
    np.testing.assert_array_equal(run_onnx(model, {"v": x}, [np.float32])[0], np.maximum(x, 0))


def _doubling(**further: Any) -> Any:
    """The body of a Loop that doubles a vector until its largest element reaches a limit."""
    nodes = [
        helper.make_node("Mul", ["v", "two"], ["after"]),
        helper.make_node("ReduceMax", ["after"], ["largest"], keepdims=0),
        helper.make_node("Less", ["largest", "limit"], ["goes_on"]),
    ]
    inputs = [_value("i", _INTEGERS), _value("holds", _TRUTHS), _value("v", _REALS, further.get("size", "n"))]
    outputs = [_value("goes_on", _TRUTHS), _value("after", _REALS, further.get("size", "n"))]
    if further.get("row"):
        outputs.append(_value("after", _REALS, "n"))
    return helper.make_graph(nodes, "body", inputs, outputs)


def test_largest_number_of_iterations_is_none() -> None:
    """Exporters write it where a condition alone ends a loop; integers have 32 bits."""
    loop = helper.make_node("Loop", ["n", "c", "x"], ["y"], body=_doubling())
    constants = {"two": np.array(2, np.float32), "limit": np.array(100, np.float32), "n": np.array((1 << 63) - 1)}
    inputs = [_value("x", _REALS, 3), _value("c", _TRUTHS)]
    model = _model([loop], inputs, [_value("y", _REALS, "n")], **constants)
    _same(model, {"x": np.array([1, 2, 3], np.float32), "c": np.array(True)})
    (loop_view,) = _graph(model).views
    assert "LESS" not in _names(loop_view.op.subgraphs[0])


@pytest.mark.parametrize("operands", [("n", "c"), ("", "c"), ("n", "")])
@pytest.mark.parametrize(("most", "begins"), [(3, True), (100, True), (0, True), (5, False)])
def test_loop_ends_by_number_or_condition(operands: tuple[str, str], most: int, begins: bool) -> None:
    """Both may be computed."""
    loop = helper.make_node("Loop", [*operands, "x"], ["y"], body=_doubling())
    inputs = [_value("x", _REALS, 3), _value("n", _INTEGERS), _value("c", _TRUTHS)]
    used = [each for each in inputs if each.name in loop.input]
    constants = {"two": np.array(2, np.float32), "limit": np.array(100, np.float32)}
    model = _model([loop], used, [_value("y", _REALS, "n")], **constants)
    values = {"x": np.array([1, 2, 3], np.float32), "n": np.array(most), "c": np.array(begins)}
    _same(model, {each.name: values[each.name] for each in used})
    assert _names(_graph(model)) == ["WHILE"]


def _counted(trips: int) -> Any:
    body = helper.make_graph(
        [
            helper.make_node("Cast", ["i"], ["number"], to=_REALS),
            helper.make_node("Add", ["v", "number"], ["after"]),
            helper.make_node("Tanh", ["after"], ["row"]),
            helper.make_node("Identity", ["holds"], ["goes_on"]),
        ],
        "body",
        [_value("i", _INTEGERS), _value("holds", _TRUTHS), _value("v", _REALS, 3)],
        [_value("goes_on", _TRUTHS), _value("after", _REALS, 3), _value("row", _REALS, 3)],
    )
    loop = helper.make_node("Loop", ["n", "", "x"], ["y", "rows"], body=body)
    outputs = [_value("y", _REALS, 3), _value("rows", _REALS, "n", 3)]
    return _model([loop], [_value("x", _REALS, 3)], outputs, n=np.array(trips))


@pytest.mark.parametrize(("trips", "stays"), [(1, False), (4, False), (300, True)])
def test_few_iterations_become_nodes_and_many_stay_a_loop(trips: int, stays: bool) -> None:
    """Rows of a loop that stays are put into place one by one."""
    model = _counted(trips)
    _same(model, {"x": np.array([0.5, -1, 2], np.float32)})
    assert ("WHILE" in _names(_graph(model))) == stays


def test_data_of_a_constant_that_several_graphs_take_are_once_in_the_file() -> None:
    """Each graph has the tensor, and all of them one buffer."""
    weights = np.random.default_rng(2).normal(size=(64, 64)).astype(np.float32)
    branches = []
    for op, name in (("Relu", "a"), ("Tanh", "b")):
        nodes = [helper.make_node("MatMul", ["x", "w"], [f"{name}m"]), helper.make_node(op, [f"{name}m"], [name])]
        branches.append(helper.make_graph(nodes, name, [], [_value(name, _REALS, 1, 64)]))
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["mean"], keepdims=0),
        helper.make_node("Greater", ["mean", "zero"], ["holds"]),
        helper.make_node("If", ["holds"], ["y"], then_branch=branches[0], else_branch=branches[1]),
    ]
    outputs = [_value("y", _REALS, 1, 64)]
    model = _model(nodes, [_value("x", _REALS, 1, 64)], outputs, w=weights, zero=np.array(0, np.float32))
    assert len(convert(model.SerializeToString(), "model.onnx").data) < 1.3 * weights.nbytes
    _same(model, {"x": np.random.default_rng(3).normal(size=(1, 64)).astype(np.float32)})


def test_endless_loop_ends_in_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is that of WHILE."""
    monkeypatch.setattr(While, "most_turns", 1000)
    body = helper.make_graph(
        [helper.make_node("Identity", ["holds"], ["goes_on"]), helper.make_node("Neg", ["v"], ["after"])],
        "body",
        [_value("i", _INTEGERS), _value("holds", _TRUTHS), _value("v", _REALS, 3)],
        [_value("goes_on", _TRUTHS), _value("after", _REALS, 3)],
    )
    loop = helper.make_node("Loop", ["", "c", "x"], ["y"], body=body)
    model = _model([loop], [_value("x", _REALS, 3), _value("c", _TRUTHS)], [_value("y", _REALS, 3)])
    with pytest.raises(LimitError):
        run(_graph(model), [np.ones(3, np.float32), np.array(True)])


def test_graphs_that_do_not_fit_are_refused() -> None:
    """The text names the node, and says what differs."""
    other = helper.make_graph(
        [helper.make_node("ReduceMax", ["image"], ["else"])], "b", [], [_value("else", _REALS, 1, 1, 1, 1)]
    )
    assert "If (choice): its branches give FLOAT [1, 3, 4, 4] and FLOAT [1, 1, 1, 1]" in _refusal(
        _branches(_convolved(), other)
    )
    assert "Acos (else): it is not supported" in _refusal(_branches(_convolved(), _with("Acos")))
    rows = helper.make_node("Loop", ["n", "c", "x"], ["y", "r"], body=_doubling(row=True), name="doubling")
    constants = {"two": np.array(2, np.float32), "limit": np.array(9, np.float32), "n": np.array(5)}
    inputs = [_value("x", _REALS, 3), _value("c", _TRUTHS)]
    model = _model([rows], inputs, [_value("y", _REALS, 3), _value("r", _REALS, "n", 3)], **constants)
    assert "Loop (doubling): how often it runs is not known ahead of time" in _refusal(model)
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["holds"], ["goes_on"]),
            helper.make_node("Concat", ["v", "v"], ["after"], axis=0),
        ],
        "body",
        [_value("i", _INTEGERS), _value("holds", _TRUTHS), _value("v", _REALS, "n")],
        [_value("goes_on", _TRUTHS), _value("after", _REALS, "m")],
    )
    grows = helper.make_node("Loop", ["", "c", "x"], ["y"], body=body, name="grows")
    model = _model([grows], inputs, [_value("y", _REALS, "m")])
    assert "Loop (grows): state 'v' has shape [3], and [6] after an iteration" in _refusal(model)


def _with(op: str) -> Any:
    node = helper.make_node(op, ["image"], ["else"], name="else")
    return helper.make_graph([node], "else", [], [_value("else", _REALS, 1, 3, 4, 4)])


def test_sequences_are_refused() -> None:
    """Their sizes are not known ahead of time."""
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(_REALS, [3]))
    sequence = [helper.make_value_info(name, kind) for name in ("s", "t", "u")]
    body = helper.make_graph(
        [helper.make_node("Identity", ["holds"], ["goes_on"]), helper.make_node("SequenceInsert", ["s", "x"], ["t"])],
        "body",
        [_value("i", _INTEGERS), _value("holds", _TRUTHS), sequence[0]],
        [_value("goes_on", _TRUTHS), sequence[1]],
    )
    nodes = [
        helper.make_node("SequenceEmpty", [], ["s0"]),
        helper.make_node("Loop", ["n", "", "s0"], ["u"], body=body, name="collects"),
        helper.make_node("ConcatFromSequence", ["u"], ["y"], axis=0),
    ]
    model = _model(nodes, [_value("x", _REALS, 3)], [_value("y", _REALS, "m")], n=np.array(4))
    assert "Loop (collects): 's' is of sequence type, whose size is not known ahead of time" in _refusal(model)


def _nested(levels: int, trips: int) -> Any:
    """Loops within one another, each of which runs the next one."""
    inner = [helper.make_node("Relu", ["v0"], ["w0"])]
    for level in range(levels):
        name = f"v{level}" if level else "v0"
        body = helper.make_graph(
            [*inner, helper.make_node("Identity", [f"holds{level}"], [f"on{level}"])],
            "body",
            [_value(f"i{level}", _INTEGERS), _value(f"holds{level}", _TRUTHS), _value(name, _REALS, 3)],
            [_value(f"on{level}", _TRUTHS), _value(f"w{level}", _REALS, 3)],
        )
        inner = [helper.make_node("Loop", ["n", "", f"v{level + 1}"], [f"w{level + 1}"], body=body)]
    outputs = [_value(f"w{levels}", _REALS, 3)]
    return _model(inner, [_value(f"v{levels}", _REALS, 3)], outputs, n=np.array(trips))


def test_loops_within_loops_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """In depth, and in nodes."""
    _same(_nested(2, 3), {"v2": np.array([-1, 0, 2], np.float32)})
    for count in (1 << 40, (1 << 63) - 1):
        assert "its output 'rows' has" in _refusal(_counted(count))
    _same(_nested(3, 40), {"v3": np.array([-1, 0, 2], np.float32)})
    assert "graphs are within one another 9 levels deep; at most 8" in _refusal(_nested(9, 2))
    monkeypatch.setattr(budget, "MOST_NODES", 5)
    assert "its branches and loops have more than 5 nodes where they run" in _refusal(_nested(4, 30))


def test_damaged_graphs_end_in_an_error_of_kibi_or_in_success() -> None:
    """Whatever is changed in a file, nothing else is raised."""
    chance = np.random.default_rng(5)
    refused = 0
    for seed in range(amount(40, 600)):
        data = bytearray(flow_network(Seeded(seed % 20)).model.SerializeToString())
        for _ in range(chance.integers(1, 5)):
            data[chance.integers(2, len(data))] = chance.integers(256)
        try:
            convert(bytes(data), "model.onnx")
        except ModelError:
            refused += 1
    assert refused


def test_node_whose_graph_is_absent_is_refused() -> None:
    """The checker of the library finds it."""
    node = onnx.NodeProto(op_type="If", input=["c"], output=["y"])
    model = _model([node], [_value("c", _TRUTHS)], [_value("y", _REALS, 3)])
    assert "breaks a rule of ONNX" in _refusal(model)
