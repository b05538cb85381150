"""`kibi inspect`: what is in a model."""

from typing import TYPE_CHECKING

from kibi.cli.arguments import AsJson, ModelPath
from kibi.cli.terminal import QUIET, byte_text, facts, is_roomy, name_of, output, print_json, say, show, table

if TYPE_CHECKING:
    from rich.console import Console

    from kibi.ir import Tensor
    from kibi.reports.inspection import Inspection, OperatorFacts

_WIDE_COLUMNS = ("constant", "scale", "zero")


def inspect(model: ModelPath, *, as_json: AsJson = False) -> None:
    """Show what is in a model.

    Its operators with their shapes, types, quantization, arithmetic and weights. A model that Kibi cannot run ends in
    a list of all that is unsupported.
    """
    import kibi  # noqa: PLC0415 - verbs pay for what they use, here and in the other files
    from kibi.reports.inspection import inspect as look  # noqa: PLC0415

    inspection = look(kibi.load(model))
    if as_json:
        print_json(inspection.to_dict())
    else:
        show_inspection(output(), inspection)


def show_inspection(console: "Console", inspection: "Inspection") -> None:
    """Print the model's ends, its operators, and the totals."""
    facts(
        console,
        [
            ("model", inspection.source),
            *((f"input {number}", _end(tensor)) for number, tensor in enumerate(inspection.inputs)),
            *((f"output {number}", _end(tensor)) for number, tensor in enumerate(inspection.outputs)),
            ("weights", f"{byte_text(inspection.weights_bytes)}{_per_channel(inspection)}"),
            ("arithmetic", f"{inspection.macs:,} multiply-accumulates in {len(inspection.operators)} operators"),
        ],
    )
    say(console)
    columns = (">#", "!operator", "attributes", "constant", "!makes", ">scale", ">zero", ">MACs", ">weights")
    rows = table(console, *columns)
    for operator in inspection.operators:
        rows.add_row(*_cells(operator))
    rows.add_section()
    rows.add_row(*("", "total"), *("",) * 5, f"{inspection.macs:,}", f"{inspection.weights_bytes:,}", style="bold")
    if not is_roomy(console):
        rows.columns = [column for column in rows.columns if column.header not in _WIDE_COLUMNS]
    show(console, rows)
    if not is_roomy(console):
        say(console, f"\nA wider terminal shows {', '.join(_WIDE_COLUMNS)} too.", QUIET)


def _cells(operator: "OperatorFacts") -> tuple[str, ...]:
    """A row of the table. What an operator reads is what an earlier one makes; the JSON has it all."""
    from kibi.reports.inspection import describe_attributes  # noqa: PLC0415

    constants = [tensor for _, tensor in operator.inputs if tensor.is_constant]
    quantization = operator.output.type.quantization
    return (
        str(operator.index),
        operator.op,
        describe_attributes(operator),
        f"{_shape(constants[0])} {constants[0].type.dtype}" if constants else "",
        f"{_shape(operator.output)} {operator.output.type.dtype}",
        "" if quantization is None else f"{quantization.scale:.5g}",
        "" if quantization is None else str(quantization.zero_point),
        f"{operator.macs:,}" if operator.macs else "",
        f"{operator.weights_bytes:,}" if operator.weights_bytes else "",
    )


def _per_channel(inspection: "Inspection") -> str:
    """How many operators have weights with a scale for each channel."""
    tensors = [[tensor.type.quantization for _, tensor in operator.inputs] for operator in inspection.operators]
    count = sum(any(each is not None and each.is_per_channel for each in found) for found in tensors)
    return f", with a scale for each channel in {count} operator{'' if count == 1 else 's'}" if count else ""


def _end(tensor: "Tensor") -> str:
    return f"{name_of(tensor.name)}  {tensor.type}  {_quantization(tensor) or 'not quantized'}"


def _shape(tensor: "Tensor") -> str:
    return "x".join(map(str, tensor.type.shape)) or "scalar"


def _quantization(tensor: "Tensor") -> str:
    return "" if tensor.type.quantization is None else str(tensor.type.quantization)
