"""Whole models: what is refused, and that all problems are found at once."""

from collections.abc import Callable

import numpy as np
import pytest

from kibi.dtypes import DType
from kibi.errors import ModelError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ops import Relu
from tests.frontends.models import classifier, problems_of, relu, residual

_S8 = DType.S8


def _chain(*operators: str, code: int | None = None) -> ModelBuilder:
    """Operators one after another, each with one input and one output; tensor `n` goes into operator `n`."""
    builder = ModelBuilder()
    x = builder.input([1, 4], _S8, 0.5, 0)
    for operator in operators:
        y = builder.tensor([1, 4], _S8, 0.5, 0)
        builder.operator(operator, [x], [y], opcode_index=code, custom_code="Thing" if operator == "CUSTOM" else "")
        x = y
    return builder


def test_sound_models_load() -> None:
    """Operators keep the file's order and indices; a left out input is None; the graph names its inputs and outputs."""
    graph = parse_tflite(classifier(), "classifier.tflite")
    assert [node.source for node in graph.nodes] == list(range(len(graph.nodes)))
    assert graph.nodes[5].op.name == "FULLY_CONNECTED"
    assert graph.nodes[5].inputs[2] is None
    assert [graph.tensors[index].name for index in (*graph.inputs, *graph.outputs)] == ["image", "probabilities"]
    assert len(parse_tflite(residual(), "residual.tflite").nodes) == 8


def test_same_file_gives_equal_graphs() -> None:
    """Reading is deterministic."""
    assert parse_tflite(classifier(), "x") == parse_tflite(classifier(), "x")


def test_unsupported_operators_are_all_named_with_what_is_supported() -> None:
    """One problem for each kind, at its first operator; the list of supported ones stands there once, behind how to add one."""
    builder = _chain("BUCKETIZE", "RELU", "CUSTOM", "RFFT2D", "BUCKETIZE")
    problems = problems_of(builder.finish([5]))
    assert [problem.operator for problem in problems] == [0, 2, 3]
    assert problems[0].what == "BUCKETIZE is not supported (the model has 2 of them)"
    assert problems[1].what == "CUSTOM:Thing is not supported"
    assert [bool(problem.remedy) for problem in problems] == [False, True, True]
    assert "kibi.ops.register_custom('Thing', …)" in problems[1].remedy
    assert problems[2].remedy == "`kibi operators` lists those that are"


def test_problems_of_every_kind_are_found_at_once() -> None:
    """An unsupported operator, a bad option, a bad tensor and a broken rule, all in one error."""
    builder = ModelBuilder()
    x = builder.input([1, 4], _S8, 0.5, 0)
    tensors = [builder.tensor([1, 4], _S8, 0.5, 0) for _ in range(2)]
    builder.operator("BUCKETIZE", [x], [tensors[0]])
    builder.operator("ADD", [x, x], [tensors[1]], fused_activation_function=4)
    dynamic = builder.tensor([1, -1], _S8, 0.5, 0, name="dynamic")
    builder.operator("RELU", [dynamic], [builder.tensor([1, 4], _S8, 0.5, 0)])
    number = builder.input([1, 4], DType.S32, name="number")
    builder.operator("LOGISTIC", [number], [builder.tensor([1, 4], _S8, 1 / 256, -128)])
    problems = problems_of(builder.finish([tensors[1]]))
    assert [problem.operator for problem in problems] == [0, 1, 2, 3]
    assert [problem.tensor for problem in problems] == [None, None, "dynamic", "number"]


def test_rule_that_fails_only_because_of_an_unsupported_operator_is_no_problem_of_its_own() -> None:
    """Weights that an unsupported operator makes are not reported a second time, as weights that are no constant."""
    builder = ModelBuilder()
    x = builder.input([1, 4], _S8, 0.5, 0)
    packed = builder.constant(np.ones((4, 4), np.int8), 0.5, 0)
    weights = builder.tensor([4, 4], _S8, 0.5, 0)
    builder.operator("CUSTOM", [packed], [weights], custom_code="UNPACK_WEIGHTS")
    y = builder.tensor([1, 4], _S8, 0.5, 0)
    builder.operator("FULLY_CONNECTED", [x, weights, -1], [y])
    (problem,) = problems_of(builder.finish([y]))
    assert problem.operator == 0


def test_hybrid_model_is_called_one() -> None:
    """Float activations with int8 weights get advice of their own."""
    builder = ModelBuilder()
    x = builder.input([1, 4], DType.F32)
    weights = builder.constant(np.ones((4, 4), np.int8), 0.5, 0, name="weights")
    y = builder.tensor([1, 4], DType.F32)
    builder.operator("FULLY_CONNECTED", [x, weights, -1], [y])
    (problem,) = problems_of(builder.finish([y]))
    assert "hybrid" in problem.what
    assert "representative dataset" in problem.remedy
    assert (problem.operator, problem.tensor) == (0, "weights")


def test_operator_code_in_either_field_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The larger of the old field and the new one counts, whichever a converter writes."""
    table = ModelBuilder._table
    for left_out in ("deprecated_builtin_code", "builtin_code"):

        def lean(
            builder: ModelBuilder, name: str, fields: dict[str, int | float | None], absent: str = left_out
        ) -> int:
            return table(builder, name, {key: value for key, value in fields.items() if key != absent})

        monkeypatch.setattr(ModelBuilder, "_table", lean)
        (node,) = parse_tflite(relu(), "model").nodes
        assert node.op == Relu()


def test_operator_code_out_of_range_is_refused() -> None:
    """An index that leads nowhere is an error at its operator."""
    (problem,) = problems_of(_chain("RELU", code=7).finish([1]))
    assert "operator code is number 7, but there are 1" in problem.what
    assert problem.operator == 0


def test_number_of_an_operator_that_the_schema_lacks_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator from a later schema is unsupported like any other."""
    monkeypatch.setattr("tflite.BuiltinOperator.NEWEST", 9999, raising=False)
    problems = problems_of(_chain("NEWEST").finish([1]))
    assert problems[0].what == "BUILTIN:9999 is not supported"


@pytest.mark.parametrize("index", [-2, 2, 1 << 30, -(1 << 31)])
@pytest.mark.parametrize("place", ["input", "output", "model input", "model output"])
def test_tensor_index_out_of_range_is_refused(place: str, index: int) -> None:
    """An index that leads nowhere is an error, wherever it stands."""
    builder = ModelBuilder()
    x = builder.input([1, 4], _S8, 0.5, 0)
    y = builder.tensor([1, 4], _S8, 0.5, 0)
    builder.operator("RELU", [index if place == "input" else x], [index if place == "output" else y])
    data = builder.finish([index if place == "model output" else y], [index if place == "model input" else x])
    problem = problems_of(data)[0]
    assert f"tensor {index}, but there are 2 tensors" in problem.what
    assert problem.operator == (None if "model" in place else 0)


def test_output_that_is_left_out_is_refused() -> None:
    """Inputs may be optional, outputs are not."""
    builder = ModelBuilder()
    x = builder.input([1, 4], _S8, 0.5, 0)
    builder.operator("RELU", [x], [-1])
    assert "tensor -1" in problems_of(builder.finish([x]))[0].what


def test_operand_that_nobody_reads_may_be_empty() -> None:
    """Converters write a shape of no elements for a scalar; TFLM goes by the output's own shape."""
    builder = ModelBuilder()
    x, y = builder.input([1, 1], _S8, 0.5, 0), builder.tensor([], _S8, 0.5, 0)
    builder.operator("RESHAPE", [x, builder.tensor([0], DType.S32)], [y])
    graph = parse_tflite(builder.finish([y]), "model")
    assert [node.inputs for node in graph.nodes] == [(0, None)]


def test_operand_that_is_computed_and_empty_is_refused() -> None:
    """Only what nobody reads may be empty: the operator that makes it names it, too."""
    builder = ModelBuilder()
    x, y = builder.input([1, 4], _S8, 0.5, 0), builder.tensor([0], _S8, 0.5, 0, name="nothing")
    builder.operator("RELU", [x], [y])
    z = builder.tensor([4], _S8, 0.5, 0)
    builder.operator("RESHAPE", [x, y], [z])
    (problem,) = problems_of(builder.finish([z]))
    assert "has no elements" in problem.what
    assert (problem.operator, problem.tensor) == (0, "nothing")


def _cycle() -> bytes:
    builder = ModelBuilder()
    tensors = [builder.tensor([1, 4], _S8, 0.5, 0) for _ in range(2)]
    builder.operator("RELU", [tensors[0]], [tensors[1]])
    builder.operator("RELU", [tensors[1]], [tensors[0]])
    return builder.finish([tensors[1]], [])


def _backwards() -> bytes:
    builder = ModelBuilder()
    x = builder.input([1, 4], _S8, 0.5, 0)
    y, z = (builder.tensor([1, 4], _S8, 0.5, 0) for _ in range(2))
    builder.operator("RELU", [y], [z])
    builder.operator("RELU", [x], [y])
    return builder.finish([z])


def _constant_output() -> bytes:
    builder = ModelBuilder()
    x = builder.input([1, 4], _S8, 0.5, 0)
    y = builder.constant(np.ones((1, 4), np.int8), 0.5, 0)
    builder.operator("RELU", [x], [y])
    return builder.finish([y])


def _unmade_output() -> bytes:
    builder = _chain("RELU")
    return builder.finish([builder.tensor([1, 4], _S8, 0.5, 0)])


def _extra_inputs() -> bytes:
    builder = ModelBuilder()
    x = builder.input([1, 4], _S8, 0.5, 0)
    y = builder.tensor([1, 4], _S8, 0.5, 0)
    builder.operator("RELU", [x] * 1000, [y])
    return builder.finish([y])


def _two_subgraphs() -> bytes:
    builder = _chain("RELU")
    builder.end_subgraph([1])
    x = builder.input([1, 4], _S8, 0.5, 0)
    return builder.finish([x])


def test_further_subgraphs_that_nothing_calls_do_not_matter() -> None:
    """TFLM runs subgraph 0."""
    assert len(parse_tflite(_two_subgraphs(), "model").nodes) == 1


def _compressed() -> bytes:
    builder = _chain("RELU")
    builder.metadata("COMPRESSION_METADATA", b"anything")
    return builder.finish([1])


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (_cycle, "read before any operator makes it"),
        (_backwards, "read before any operator makes it"),
        (_constant_output, "already made"),
        (_unmade_output, "no operator makes this output"),
        (_extra_inputs, "1000 inputs"),
        (_compressed, "the flatbuffer is corrupt"),
        (lambda: _chain("RELU").finish(None), "the model has no output, so it computes nothing"),
        (lambda: _chain("RELU").finish([1], version=2), "version is 2"),
        (lambda: _chain("RELU").finish([1], identifier=b"ABCD"), "not the identifier 'TFL3'"),
    ],
)
def test_model_that_is_wrong_as_a_whole_is_refused(make: Callable[[], bytes], expected: str) -> None:
    """Cycles, wrong order, outputs that are constants or never made, and files of other kinds end in an error that says so."""
    assert expected in str(problems_of(make())[0])


@pytest.mark.parametrize("size", range(8))
def test_data_shorter_than_a_header_are_refused(size: int) -> None:
    """Nothing is read from where nothing is."""
    assert len(problems_of(relu()[:size])) == 1


def test_model_without_subgraph_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing to compute."""
    monkeypatch.setattr(ModelBuilder, "end_subgraph", lambda *_: None)
    assert "no subgraph" in problems_of(ModelBuilder().finish([]))[0].what


def test_metadata_of_other_tools_does_not_matter() -> None:
    """Converters leave notes that change nothing."""
    builder = _chain("RELU")
    builder.metadata("min_runtime_version", b"1.5.0")
    assert len(parse_tflite(builder.finish([1]), "model").nodes) == 1


def test_error_names_the_file_and_counts_the_problems() -> None:
    """The text can be shown as it is."""
    with pytest.raises(ModelError, match=r"^kws\.tflite: 2 problems\n  - operator 0: BUCKETIZE is not supported\.\n"):
        parse_tflite(_chain("BUCKETIZE", "RFFT2D").finish([2]), "kws.tflite")
