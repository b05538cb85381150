"""`kibi inspect`: what is in a model, a plan file, an update package or a key."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kibi.cli.options.common import AsJson, SignatureName, WithoutPasses
from kibi.cli.options.paths import given_inspected, given_path
from kibi.cli.output.inspect_update import inspect_other
from kibi.cli.output.outlook import show_outlook
from kibi.cli.terminal import QUIET, byte_text, facts, is_roomy, name_of, output, print_json, say, show, table
from kibi.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from kibi.ir import Graph, Signature, Tensor
    from kibi.passes import Simplified
    from kibi.reports.inspection import Inspection, OperatorFacts

_WIDE_COLUMNS = ("constant", "scale", "zero point")


def inspect(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A .tflite file, a plan file, an update package or a key.",
            parser=given_inspected,
            show_default=False,
        ),
    ],
    *,
    passes: Annotated[
        bool, typer.Option("--passes", help="Show what the lossless passes change, why, and what it saves.")
    ] = False,
    text: Annotated[
        bool,
        typer.Option(
            "--text", help="Print the graph as text, a line for each operator; of large constants the digest alone."
        ),
    ] = False,
    signature: SignatureName = None,
    without_pass: WithoutPasses = None,
    key: Annotated[
        Path | None,
        typer.Option(
            "--key",
            "-k",
            metavar="FILE",
            help="Verify the signature of a package with this public key: NAME.pub.pem.",
            parser=given_path,
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what is in a model, a plan file, an update package or a key.

    Of a model: its operators with their shapes, types, quantization, arithmetic and weights. A model that Kibi cannot
    run ends in a list of all that is unsupported.
    """
    import kibi  # noqa: PLC0415 - verbs pay for what they use, here and in the other files
    from kibi.ir.text import graph_text  # noqa: PLC0415
    from kibi.passes import simplify  # noqa: PLC0415
    from kibi.reports.inspection import inspect as look  # noqa: PLC0415
    from kibi.reports.inspection import passes_record  # noqa: PLC0415

    is_for_models = bool(passes or text or signature is not None or without_pass)
    if inspect_other(file, key, as_json=as_json, is_for_models=is_for_models):
        return
    if without_pass and not passes:
        raise InputError("the model is shown as it is, without any pass. Give --passes, or leave --without-pass out.")
    if text and as_json:
        raise InputError("--text and --json are two ways to show a model. Give one of them.")
    graph = kibi.load(file, signature)
    simplified = simplify(graph, without_pass or ()) if passes else None
    if text:
        shown = graph_text(graph if simplified is None else simplified.graph, elements=False)
        output().print(shown, end="", soft_wrap=True)
    elif as_json:
        print_json({**look(graph).to_dict(), **({"passes": passes_record(simplified)} if simplified else {})})
    elif simplified is None:
        show_inspection(output(), look(graph))
        show_outlook(file, graph)
    else:
        show_passes(output(), graph, simplified)


def show_passes(console: "Console", graph: "Graph", simplified: "Simplified") -> None:
    """Prints what the lossless passes change, and the totals before and after."""
    after = simplified.graph
    operators = f"{len(graph.nodes)} operators, {len(after.nodes)} after the passes"
    facts(
        console,
        [
            ("model", graph.source),
            ("operators", operators),
            ("weights", f"{byte_text(graph.weights_bytes)}, {byte_text(after.weights_bytes)} after the passes"),
            ("arithmetic", f"{graph.macs:,} multiply-accumulates, {after.macs:,} after the passes"),
        ],
    )
    say(console)
    if not simplified.changes:
        say(console, "The passes find nothing to leave out.")
        return
    rows = table(console, "!pass", "!operator", "why no bit changes", ">MACs saved", ">bytes saved")
    for change in simplified.changes:
        rows.add_row(change.by, change.where, change.what, *_saved(change.macs, change.weights_bytes))
    rows.add_section()
    totals = [sum(change.macs for change in simplified.changes), sum(c.weights_bytes for c in simplified.changes)]
    rows.add_row("total", "", "", *(f"{number:,}" for number in totals), style="bold")
    show(console, rows)


def _saved(*numbers: int) -> tuple[str, ...]:
    return tuple(f"{number:,}" if number else "" for number in numbers)


def show_inspection(console: "Console", inspection: "Inspection") -> None:
    """Prints the model's inputs and outputs, its operators, and the totals."""
    facts(
        console,
        [
            ("model", inspection.source),
            *((f"input {number}", _end(tensor)) for number, tensor in enumerate(inspection.inputs)),
            *((f"output {number}", _end(tensor)) for number, tensor in enumerate(inspection.outputs)),
            *(
                [("state", f"{byte_text(inspection.variable_bytes)} in {_count(inspection.variables)}")]
                if inspection.variables
                else []
            ),
            *(("signature", _signature(signature)) for signature in inspection.signatures),
            ("weights", f"{byte_text(inspection.weights_bytes)}{_per_channel(inspection)}"),
            ("arithmetic", f"{inspection.macs:,} multiply-accumulates in {len(inspection.operators)} operators"),
        ],
    )
    say(console)
    columns = (">#", "!operator", "attributes", "constant", "!output", ">scale", ">zero point", ">MACs", ">weights")
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
    """A row of the table, without the operator's inputs, which earlier operators make; the JSON has everything."""
    from kibi.reports.inspection import describe_attributes  # noqa: PLC0415

    constants = [tensor for _, tensor in operator.inputs if tensor.is_constant]
    quantization = operator.outputs[0].type.quantization if operator.outputs else None
    return (
        str(operator.index),
        operator.op,
        describe_attributes(operator),
        f"{_shape(constants[0])} {constants[0].type.dtype.word}" if constants else "",
        ", ".join(f"{_shape(tensor)} {tensor.type.dtype.word}" for tensor in operator.outputs),
        "" if quantization is None else f"{quantization.scale:.5g}",
        "" if quantization is None else str(quantization.zero_point),
        f"{operator.macs:,}" if operator.macs else "",
        f"{operator.weights_bytes:,}" if operator.weights_bytes else "",
    )


def _count(variables: "tuple[Tensor, ...]") -> str:
    names = ", ".join(tensor.name for tensor in variables)
    return f"{len(variables)} variable{'' if len(variables) == 1 else 's'}: {names}"


def _per_channel(inspection: "Inspection") -> str:
    """Returns, in words, how many operators have weights with a scale for each channel."""
    tensors = [[tensor.type.quantization for _, tensor in operator.inputs] for operator in inspection.operators]
    count = sum(any(each is not None and each.is_per_channel for each in found) for found in tensors)
    return f", with a scale for each channel in {count} operator{'' if count == 1 else 's'}" if count else ""


def _end(tensor: "Tensor") -> str:
    return f"{name_of(tensor.name)}  {tensor.type}  {_quantization(tensor) or 'not quantized'}"


def _signature(signature: "Signature") -> str:
    """An entry point as a terminal may show it; its names come from the file."""
    ends = [", ".join(str(name_of(name)) for name, _ in pairs) for pairs in (signature.inputs, signature.outputs)]
    return f"{name_of(signature.key)}: {ends[0]} -> {ends[1]}, of subgraph {signature.subgraph}"


def _shape(tensor: "Tensor") -> str:
    return "x".join(map(str, tensor.type.shape)) or "scalar"


def _quantization(tensor: "Tensor") -> str:
    return "" if tensor.type.quantization is None else str(tensor.type.quantization)
