"""The generated page of operators."""  # noqa: INP001 - a folder of documents and scripts, no package

import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import fields
from enum import Enum

from kibi.frontends.tflite.importers import RESOLVED
from kibi.ir import Operator
from kibi.ops import operators
from kibi.text.markdown import code_span

_MOST_NUMBERED = 8
"""Operands with a number in their name that a table lists one by one."""
_NOTE = "<!-- Written by `make docs`; change docs/operator_tables.py or the code that it reads, not this file. -->\n"
_NAME = re.compile(r"\b[A-Za-z_]\w*")
_RULE = re.compile(r"\b[Rr]ule (N\d+)")


def operators_page() -> str:
    """Returns the page of supported operators, from the registry."""
    known = operators()
    lines = [
        "# Operators",
        "",
        _NOTE,
        f"Kibi runs these {len(known) + len(RESOLVED)} operators. Each gives the same bits as TensorFlow Lite Micro (TFLM): in",
        "Python, in C on your machine and in C on the device. `kibi operators` prints the same list, and `kibi inspect` says what",
        "a model needs that is not in it. Element types are `s8` (int8), `s32` (int32), `f32` (float32) and so on. A rule such as",
        "N4 is a section of [numerics.md](numerics.md).",
        "",
        "| operator | input | kernels |",
        "|---|---|---|",
        *(f"| [{code_span(o.name)}](#{o.name.lower()}) | {_types(o)} | {_listed(o.kernels)} |" for o in known.values()),
        "",
        "Loading a model resolves these operators; see [models that remember](state.md):",
        "",
        *(f"- {code_span(name)}: {text}" for name, text in RESOLVED.items()),
    ]
    for operator in known.values():
        lines += ["", *_operator(operator)]
    return "\n".join(lines) + "\n"


def _operator(operator: type[Operator]) -> Iterator[str]:
    first, *rest = paragraphs(operator)
    yield from (f"## {operator.name}", "", first)
    for paragraph in rest:
        yield from ("", paragraph)
    yield from ("", f"- operands: {_operands(operator)}")
    attributes = [_attribute(field.name, field.default) for field in fields(operator)]  # type: ignore[arg-type]
    if attributes:
        yield f"- attributes: {', '.join(attributes)}"
    if operator.ulps:
        units = f"{operator.ulps} unit{'s' if operator.ulps > 1 else ''} in the last place"
        yield f"- floats: TFLM's C library decides their last bits; with glibc up to 2.40 they are equal, else within {units}"
    rules = sorted(_rules(operator), key=lambda rule: int(rule[1:]))
    if rules:
        yield f"- rules: {', '.join(f'[{rule}](numerics.md#{rule.lower()})' for rule in rules)}"


def paragraphs(thing: type) -> list[str]:
    """The paragraphs of a class's docstring."""
    return [" ".join(part.split()) for part in (inspect.getdoc(thing) or "").split("\n\n")]


def _operands(operator: type[Operator]) -> str:
    """The names of operands; of many numbered ones only the first and the last."""
    listed = [f"`{name.rstrip('?')}`{_role(operator, name)}" for name in operator.inputs]
    is_long = sum(name.rstrip("?")[-1].isdigit() for name in operator.inputs) > _MOST_NUMBERED
    return ", ".join([*listed[:3], "…", listed[-1]] if is_long else listed)


def _role(operator: type[Operator], name: str) -> str:
    """Returns the special properties of an operand, in brackets."""
    constant = "" if name.rstrip("?") in operator.row_inputs else "constant"
    roles = ", ".join(filter(None, (constant, "optional" if name.endswith("?") else "")))
    return f" ({roles})" if roles else ""


def _attribute(name: str, default: object) -> str:
    if isinstance(default, Enum):
        return f"`{name}` ({', '.join(type(default).__members__)})"
    if isinstance(default, tuple) and default:
        return f"`{name}` (height, width)"
    return f"`{name}`"


def _rules(operator: type[Operator]) -> set[str]:
    """Returns the rules that an operator's class names, and those of what it uses: all of its own file, and what that imports."""
    module = sys.modules[operator.__module__]
    used, left = {operator.__name__}, [operator.__name__]
    texts = []
    while left:
        value = vars(module)[left.pop()]
        texts.append(inspect.getsource(value))
        if value.__module__ == module.__name__:
            names = {name for name in _NAME.findall(texts[-1]) if _has_rules(vars(module).get(name))} - used
            used |= names
            left += names
    return {rule for text in texts for rule in _RULE.findall(text)}


def _has_rules(value: object) -> bool:
    """True if a value is a function or a class whose text may name rules."""
    is_code = inspect.isfunction(value) or inspect.isclass(value)
    where = getattr(value, "__module__", "")
    return is_code and where.startswith(("kibi.ops", "kibi.quant")) and where != "kibi.ops.registry"


def _types(operator: type[Operator]) -> str:
    return ", ".join(f"`{kind}`" for kind in operator.types)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
