"""The README.md of a package: what the model takes and gives, and how this kind of package is used."""

from collections.abc import Iterable

from kibi.codegen import CompiledModel, Library
from kibi.ir import TensorType
from kibi.packages.sources import summary
from kibi.packages.templates import filled_text
from kibi.text.package import PackageText, bare_word, lines_of, number_text, package_text


def readme(library: Library, use: PackageText) -> PackageText:
    """The README of a package.

    Names of tensors and operators, which may hold any text, are left out: the header has them.

    Args:
        library: as it was generated.
        use: how the kind of package is used.
    """
    return filled_text(
        "README.md.in",
        library=bare_word(library.name),
        summary=summary(library),
        models=package_text("\n").join(_model(each) for each in library.models),
        use=use,
    )


def _model(model: CompiledModel) -> PackageText:
    """The memory of one model, and a table of its inputs and outputs."""
    graph = model.graph
    return filled_text(
        "readme_model.md.in",
        name=bare_word(graph.name),
        target=bare_word(model.plan.target),
        arena=model.arena_bytes,
        rows=lines_of((
            *_rows("input", (graph.tensors[index].type for index in graph.inputs)),
            *_rows("output", (graph.tensors[index].type for index in graph.outputs)),
        )),
    )  # fmt: skip


def _rows(side: str, types: Iterable[TensorType]) -> Iterable[PackageText]:
    for number, each in enumerate(types):
        shape = package_text(", ").join(package_text("$size", size=size) for size in each.shape)
        yield package_text(
            "| $side $number | [$shape] | $kind | $meaning |",
            side=bare_word(side),
            number=number,
            shape=shape,
            kind=bare_word(each.dtype.word),
            meaning=_meaning(each),
        )


def _meaning(kind: TensorType) -> PackageText:
    """The formula that gives the value of a number in a quantized tensor."""
    if kind.quantization is None or kind.quantization.is_per_channel:
        return package_text("")
    scale, zero = number_text(kind.quantization.scale), kind.quantization.zero_point
    sign = package_text("+") if zero < 0 else package_text("-")
    if not zero:
        return package_text("$scale * number", scale=scale)
    return package_text("$scale * (number $sign $zero)", scale=scale, sign=sign, zero=abs(zero))
