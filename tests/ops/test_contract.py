"""What every operator must have: a walk through the registry."""

import inspect
import re
from functools import cache

import pytest

from kibi.errors import InternalError
from kibi.frontends.tflite.importers import CUSTOM, IMPORTERS
from kibi.ir import KernelCall, NodeView, Operator
from kibi.kernels import header_of, text_of
from kibi.kernels.params import PARAMS, FieldKind
from kibi.ops import operators
from kibi.targets import targets
from tests.ops.comparison import graph_of
from tests.support.amount import amount
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS
from tests.support.wider_models import WIDER_MODELS

_SAMPLES, _FOR_EACH_KERNEL = amount(24, 160), 8
"""Models of an operator at the least, and for each of its kernels."""

each_operator = pytest.mark.parametrize("operator", operators().values(), ids=lambda operator: operator.name)


@cache
def _samples(operator: type[Operator]) -> tuple[tuple[NodeView, KernelCall], ...]:
    """The operator in drawn models, with its kernel calls."""
    kinds = [models[operator.name] for models in (OPERATOR_MODELS, WIDER_MODELS) if operator.name in models]
    count = max(_SAMPLES, _FOR_EACH_KERNEL * len(operator.kernels))
    graphs = (graph_of(draw(Seeded(seed))) for draw in kinds for seed in range(count))
    views = (view for graph in graphs for view in graph.views)
    return tuple((view, view.op.kernel_call(view)) for view in views if isinstance(view.op, operator))


def _calls(operator: type[Operator]) -> list[KernelCall]:
    """The kernel calls of drawn models."""
    return [call for _, call in _samples(operator)]


def test_operators_importers_and_samples_name_the_same() -> None:
    """Each operator can be imported and drawn, and nothing else is."""
    assert list(operators()) == sorted([*IMPORTERS, *CUSTOM]) == list(OPERATOR_MODELS)


@each_operator
def test_operator_is_frozen_data_with_all_rules(operator: type[Operator]) -> None:
    """An operator is a frozen, slotted dataclass that leaves no part of the contract out."""
    assert not inspect.isabstract(operator)
    assert "__dataclass_fields__" in vars(operator)
    assert not hasattr(operator(), "__dict__")
    assert hash(operator()) == hash(operator())  # only frozen dataclasses have one
    assert set(operator.row_inputs) <= {name.rstrip("?") for name in operator.inputs}


@each_operator
def test_operator_docstring_states_shapes_types_and_source(operator: type[Operator]) -> None:
    """The docstrings of an operator and of what it derives from say what goes in and out, and where the rule is from."""
    text = " ".join(
        base.__doc__ or "" for base in operator.__mro__ if issubclass(base, Operator) and base is not Operator
    )
    assert "Source" in text
    assert "→" in text
    assert any(str(dtype) in text for dtype in operator.types) or "any type" in text
    assert inspect.getdoc(operator)


@each_operator
def test_operator_rules_are_documented(operator: type[Operator]) -> None:
    """Each rule has a docstring where it is written."""
    for rule in ("infer", "accesses", "steps", "accumulates", "reference", "accumulation", "kernel_call", "macs"):
        assert getattr(operator, rule).__doc__


@each_operator
def test_operator_kernels_have_source_and_header_for_every_target(operator: type[Operator]) -> None:
    """Each kernel has its two files in the portable set, which every target ends with."""
    assert all(entry.kernel_sets[-1] == "portable" for entry in targets())
    for kernel in operator.kernels:
        for name in (f"{kernel}.c", header_of(kernel)):
            assert f"void {kernel}(" in text_of(name, ("portable",)).text


@pytest.mark.share(5, part=4)
@each_operator
def test_operator_samples_reach_every_kernel(operator: type[Operator]) -> None:
    """The samples bind each kernel that the operator names, and no other."""
    assert {call.kernel for call in _calls(operator)} == set(operator.kernels)


@pytest.mark.share(5, part=0)
@each_operator
def test_operator_params_fit_the_kernels_struct(operator: type[Operator]) -> None:
    """A call has parameters of its kernel's class; the operator's subgraphs are the fields that point to such."""
    for call in _calls(operator):
        assert type(call.params) is PARAMS[call.kernel]
        subgraphs = tuple(field.name for field in PARAMS[call.kernel].fields if field.kind is FieldKind.SUBGRAPH)
        assert subgraphs == operator.subgraph_names


@pytest.mark.share(5, part=2)
@each_operator
def test_operator_that_accumulates_keeps_its_accumulator_in_scratch(operator: type[Operator]) -> None:
    """What accumulates is told the step, and its reference needs no more scratch than its kernel; others do not accumulate."""
    for view, call in _samples(operator):
        if view.op.accumulates(view):
            assert call.takes_step
            assert view.op.accumulation(view).start.nbytes == call.scratch_bytes
        elif operator.accumulation is Operator.accumulation:
            with pytest.raises(InternalError, match="does not accumulate"):
                view.op.accumulation(view)


@each_operator
def test_operator_overlaps_are_declared_for_each_row_input(operator: type[Operator]) -> None:
    """A call says for each row input how near below it outputs may begin, or says nothing; no distance exceeds them all."""
    for view, call in _samples(operator):
        distances = call.inplace_distance_bytes
        assert len(distances) in {0, len(view.row_tensors)}
        most = max(tensor.type.size_bytes for tensor in view.outputs)
        assert all(each is None or 0 <= each <= most for each in distances)


@each_operator
def test_operator_kernel_takes_the_step_where_its_call_says_so(operator: type[Operator]) -> None:
    """A call passes the step exactly to those kernels whose header declares it."""
    for call in _calls(operator):
        header = text_of(header_of(call.kernel), ("portable",)).text
        declared = re.search(rf"void {call.kernel}\([^;]*;", header)
        assert declared
        assert call.takes_step == (declared[0].endswith("int32_t step);"))


@each_operator
def test_operator_kernel_takes_a_table_of_outputs_where_there_are_several(operator: type[Operator]) -> None:
    """A kernel is given a pointer to each output exactly where its operator has several names for them."""
    for view, call in _samples(operator):
        header = text_of(header_of(call.kernel), ("portable",)).text
        assert view.op.has_several_outputs == (f"void {call.kernel}(void *const *outputs," in header)


@each_operator
def test_operator_samples_have_rows_that_fit_their_tensors(operator: type[Operator]) -> None:
    """Steps make each row of each output once, in order, and accesses name rows that the inputs have."""
    for view, _ in _samples(operator):
        for output, tensor in enumerate(view.outputs):
            made = [row for step in range(view.steps) for row in view.made_rows(step, output)]
            assert made == list(range(tensor.type.rows))
            assert view.op.accumulates(view) or len(view.made_rows(0, output)) * view.steps == len(made)
        for tensor, access in zip(view.row_tensors, view.op.accesses(view), strict=True):
            needed = {row for step in range(view.steps) for row in access.needs(step)}
            assert needed <= set(range(tensor.type.rows))
            assert tensor.type.row_elements % access.parts == 0
        assert view.op.macs(view) >= 0
