"""The contents of an ONNX file, checked: data read, functions expanded, shapes fixed and inferred."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kibi.errors import ModelError, Problem
from kibi.frontends.onnx.bodies import depth, operators
from kibi.frontends.onnx.external import with_external_data
from kibi.frontends.onnx.library import onnx_library
from kibi.frontends.onnx.rewriting import HIDDEN, SAME_SHAPE, rewritten

OLDEST_OPSET = 13
"""The oldest version of ONNX's operators that is read as it is; older ones are converted by the library."""
_AGAIN = "Export the model again, or download it again"
_OWN = ("", "ai.onnx")
_CONSTANTS_ALONE = 4
_MOST_NODES = 1_000_000
_MOST_LEVELS = 8
_SCAN_WITHOUT_BATCHES = 9
_NOTHING: Mapping[str, Any] = MappingProxyType({})


def loaded(data: bytes, path: str, shapes: Mapping[str, Sequence[int]], claimed: frozenset[tuple[str, str]]) -> Any:
    """The `ModelProto` in a file, of which all inputs have complete shapes.

    Args:
        data: the contents of the file.
        path: of the file: external data are beside it; errors name it.
        shapes: of inputs, by name, where the file leaves sizes open.
        claimed: domain and name of the operators that are converted as they are; others become the body of their function, if
            ONNX defines one.

    Raises:
        ModelError: the file is damaged, too new, or not complete, or sizes are open.
        ToolchainError: the library is missing.
    """
    onnx = onnx_library()
    model = _parsed(onnx, data, path)
    if problems := _versions(onnx, model):
        raise ModelError(path, problems)
    folder = Path(path).parent if Path(path).is_file() else None
    if problems := with_external_data(model, folder):
        raise ModelError(path, problems)
    try:
        onnx.checker.check_model(model)
    except (onnx.checker.ValidationError, ValueError) as error:
        raise ModelError(path, [Problem(f"the file breaks a rule of ONNX: {_first_line(error)}", _AGAIN)]) from error
    model = _modern(onnx, model, path)
    if problems := _fix_shapes(model.graph, shapes):
        raise ModelError(path, problems)
    # Before this version constants had to be inputs, too, and the library takes no others for constants.
    model.ir_version = max(model.ir_version, _CONSTANTS_ALONE)
    if (levels := depth(model.graph)) > _MOST_LEVELS:
        what = f"graphs are within one another {levels} levels deep; at most {_MOST_LEVELS} are possible"
        raise ModelError(path, [Problem(what, "Export a simpler model")])
    return prepared(model, path, claimed)


def prepared(model: Any, path: str, claimed: frozenset[tuple[str, str]]) -> Any:
    """The model with other nodes in place of those that hold scales, and of functions; arguments and errors as for `loaded`."""
    return _expanded(rewritten(model), path, claimed)


def inferred(model: Any, path: str, known: Mapping[str, Any] = _NOTHING) -> Any:
    """The model with the shapes and types of all values that can be known.

    Args:
        model: the `ModelProto`.
        path: of its file, for errors.
        known: `ValueInfoProto`s by name, of what the library does not know.

    Raises:
        ModelError: shapes or types contradict each other.
    """
    onnx = onnx_library()
    del model.graph.value_info[:]
    for output in model.graph.output:
        if output.type.HasField("tensor_type"):
            output.type.tensor_type.ClearField("shape")
        if output.name in known:
            output.CopyFrom(known[output.name])
    outputs = {output.name for output in model.graph.output}
    model.graph.value_info.extend(each for name, each in known.items() if name not in outputs)
    try:
        result = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
        while added := _same_shapes(result.graph):
            result.graph.value_info.extend(added)
            result = onnx.shape_inference.infer_shapes(result, strict_mode=True, data_prop=True)
    except (onnx.shape_inference.InferenceError, ValueError) as error:
        raise ModelError(path, [Problem(f"shapes or types do not fit: {_first_line(error)}", _AGAIN)]) from error
    return result


def _same_shapes(graph: Any) -> list[Any]:
    """The types of outputs that have that of an input, where the library does not know it."""
    known = {
        each.name: each
        for each in (*graph.input, *graph.value_info, *graph.output)
        if each.type.tensor_type.HasField("shape")
    }
    added = []
    for node in graph.node:
        if node.op_type in SAME_SHAPE and node.output[0] not in known and node.input[0] in known:
            value = type(known[node.input[0]])()
            value.CopyFrom(known[node.input[0]])
            value.name = node.output[0]
            added.append(value)
            known[value.name] = value
    return added


def _parsed(onnx: Any, data: bytes, path: str) -> Any:
    from google.protobuf.message import DecodeError  # noqa: PLC0415 - it comes with the extra

    try:
        model = onnx.ModelProto.FromString(data)
    except DecodeError as error:
        raise ModelError(path, [Problem("the ONNX file is damaged: it cannot be decoded", _AGAIN)]) from error
    if not model.HasField("graph") or not model.graph.output:
        raise ModelError(path, [Problem("the ONNX file has no graph with outputs", _AGAIN)])
    return model


def _versions(onnx: Any, model: Any) -> list[Problem]:
    update = "Update the library (pip install --upgrade onnx), or export the model for an older version"
    if model.ir_version > onnx.IR_VERSION:
        return [
            Problem(f"its format has version {model.ir_version}; the library knows up to {onnx.IR_VERSION}", update)
        ]
    newest = onnx.defs.onnx_opset_version()
    versions = [each.version for each in model.opset_import if each.domain in _OWN]
    if versions and max(versions) > newest:
        return [
            Problem(f"its operators have version (opset) {max(versions)}; the library knows up to {newest}", update)
        ]
    if versions and min(versions) < 1:
        return [Problem(f"its operators have version (opset) {min(versions)}, which does not exist", _AGAIN)]
    return []


def _modern(onnx: Any, model: Any, path: str) -> Any:
    """The model with operators of opset 13 or newer."""
    version = opset(model)
    if version >= OLDEST_OPSET:
        return model
    if version < _SCAN_WITHOUT_BATCHES and "Scan" in operators(model.graph):
        what = f"Scan of opset {version}, whose sequences have an axis for the batch, is not supported"
        raise ModelError(path, [Problem(what, f"Export the model for opset {_SCAN_WITHOUT_BATCHES} or newer")])
    try:
        return onnx.version_converter.convert_version(model, OLDEST_OPSET)
    except (RuntimeError, onnx.version_converter.ConvertError, ValueError) as error:
        what = f"its operators have version (opset) {version}, and cannot be converted to {OLDEST_OPSET}: {_first_line(error)}"
        raise ModelError(path, [Problem(what, f"Export the model for opset {OLDEST_OPSET} or newer")]) from error


def opset(model: Any) -> int:
    """The version of ONNX's own operators."""
    return max((each.version for each in model.opset_import if each.domain in _OWN), default=OLDEST_OPSET)


def _fix_shapes(graph: Any, shapes: Mapping[str, Sequence[int]]) -> list[Problem]:
    """Writes the sizes that are given into the graph; returns what is left open, or does not fit."""
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [each for each in graph.input if each.name not in constants]
    names = [each.name for each in inputs]
    problems = [
        Problem(f"there is no input {name!r}", f"Its inputs are {', '.join(map(repr, names))}")
        for name in shapes
        if name not in names
    ]
    known: dict[str, int] = {}
    for value in inputs:
        if not value.type.HasField("tensor_type"):
            problems.append(
                Problem("an input is no tensor, which is not supported", "Export with tensors", tensor=value.name)
            )
        elif value.name in shapes:
            problems += _fix_one(value, tuple(shapes[value.name]), known)
    if problems:
        return problems
    for value in inputs:
        for size in value.type.tensor_type.shape.dim:
            if size.dim_param in known:
                size.dim_value = known[size.dim_param]
    return _open_sizes(inputs)


def _fix_one(value: Any, wanted: tuple[int, ...], known: dict[str, int]) -> list[Problem]:
    kind = value.type.tensor_type
    if min(wanted, default=1) < 1:
        return [Problem(f"shape {list(wanted)} has a size below 1", "Give sizes of 1 or more", tensor=value.name)]
    if not kind.HasField("shape"):
        for _ in wanted:
            kind.shape.dim.add()
    sizes = kind.shape.dim
    fixed = [size.dim_value if size.dim_value > 0 else None for size in sizes]
    if len(sizes) != len(wanted) or any(a not in (None, b) for a, b in zip(fixed, wanted, strict=True)):
        what = f"shape {list(wanted)} does not fit the file's {_shown(value)}"
        return [Problem(what, "Give a shape that fits, in the file's order of axes", tensor=value.name)]
    for size, number in zip(sizes, wanted, strict=True):
        if size.dim_param:
            known[size.dim_param] = number
        size.dim_value = number
    return []


def _open_sizes(inputs: Sequence[Any]) -> list[Problem]:
    """All open sizes as one problem."""
    empty = [
        v
        for v in inputs
        if any(each.HasField("dim_value") and not each.dim_value for each in v.type.tensor_type.shape.dim)
    ]
    if empty:
        what = "an input has no elements"
        return [Problem(f"{what}: its shape is {_shown(v)}", "Give sizes of 1 or more", tensor=v.name) for v in empty]
    # Some exporters write -1 for a size that is open.
    unknown = [value for value in inputs if any(size.dim_value < 1 for size in value.type.tensor_type.shape.dim)]
    ranks = [value for value in inputs if not value.type.tensor_type.HasField("shape")]
    if not unknown and not ranks:
        return []
    shown = "; ".join(f"{value.name} {_shown(value)}" for value in unknown + ranks)
    options = " ".join(
        f"--shape {value.name}={','.join(str(max(size.dim_value, 1)) for size in value.type.tensor_type.shape.dim)}"
        for value in unknown + ranks
    )
    return [
        Problem(
            f"sizes of inputs are open: {shown}",
            f"Say how large they are, for instance: kibi convert MODEL -o FILE {options}",
        )
    ]


def _shown(value: Any) -> str:
    kind = value.type.tensor_type
    if not kind.HasField("shape"):
        return "of unknown rank"
    sizes = (
        size.dim_param or "?" if size.dim_value < 0 or not size.HasField("dim_value") else size.dim_value
        for size in kind.shape.dim
    )
    return f"[{', '.join(map(str, sizes))}]"


def _expanded(model: Any, path: str, claimed: frozenset[tuple[str, str]]) -> Any:
    """The model with the bodies of its own functions, and of ONNX's functions that are not converted as they are."""
    from onnx import inliner  # noqa: PLC0415 - an extra: imported where it is used

    if problems := _sizes_of_functions(model):
        raise ModelError(path, problems)
    try:
        model = inliner.inline_local_functions(model) if model.functions else model
        used = {("" if node.domain in (*_OWN, HIDDEN) else node.domain, node.op_type) for node in model.graph.node}
        if used <= claimed:
            return model
        typed = inferred(model, path)  # bodies may depend on types
        typed.graph.value_info.extend(
            onnx_library().helper.make_tensor_value_info(each.name, each.data_type, each.dims)
            for each in typed.graph.initializer
        )
        return inliner.inline_selected_functions(typed, sorted(claimed), exclude=True, inline_schema_functions=True)
    except (RuntimeError, ValueError) as error:
        raise ModelError(path, [Problem(f"its functions cannot be expanded: {_first_line(error)}", _AGAIN)]) from error


def _sizes_of_functions(model: Any) -> list[Problem]:
    """The problem of a model whose own functions, which call each other, have too many nodes; the checker found no circle."""
    bodies = {(each.domain, each.name, each.overload): each.node for each in model.functions}
    sizes: dict[tuple[str, str, str], int] = {}

    def size(nodes: Any) -> int:
        return sum(size_of_node(node) for node in nodes)

    def size_of_node(node: Any) -> int:
        key = node.domain, node.op_type, node.overload
        if key in bodies and key not in sizes:
            sizes[key] = size(bodies[key])
        inner = sum(size(graph.node) for each in node.attribute for graph in (each.g, *each.graphs))
        return sizes.get(key, 1) + inner

    whole = size(model.graph.node) if bodies else 0
    what = f"its functions have {whole:,} nodes where they are called; at most {_MOST_NODES:,} are possible"
    return [Problem(what, "Export a smaller model")] if whole > _MOST_NODES else []


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
