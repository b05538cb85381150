"""The page of a report: one file with its styles, its scripts, the record and the model, which asks no network for anything."""

import hashlib
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from kibi.errors import InternalError
from kibi.text.json import without_surrogates
from kibi.text.markup import Markup, attributes, element_text, embedded_json, markup, own_code

MOST_BYTES: Final = 1_500_000
"""The most bytes of a page."""
_FOLDER = Path(__file__).parent / "page"
_LEAST_SHARE = 0.0005
"""Changes of a smaller share are given in numbers alone."""
_STYLES = ("base", "answer", "tables", "plan", "graph", "run", "print")
_IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (async function|function|class|const) (\w+)", re.MULTILINE)


def report_page(record: Mapping[str, Any], machine: Mapping[str, Any]) -> bytes:
    """The page of a record, in UTF-8.

    Text from a model never becomes markup or script: in the template it is escaped, and the scripts set it as text. The policy of
    the page allows its own script and styles alone, by their digests, and nothing from elsewhere.

    Args:
        record: of `report_record`.
        machine: of `machine_record`; left out, with the reason, where the page would be larger than `MOST_BYTES`.
    """
    page = _page({**record, "run": machine})
    if len(page) <= MOST_BYTES or "left_out" in machine:
        return page
    reason = (
        f"Its code and weights would make this file {len(page):,} bytes large; a report has at most {MOST_BYTES:,}."
    )
    return _page({**record, "run": {"left_out": reason}})


def _page(record: Mapping[str, Any]) -> bytes:
    script, style = _script(), _style()
    template = _environment().get_template("report.html.j2")
    text = template.render(
        **record,
        policy=_policy(script, style),
        style=own_code(style),
        script=own_code(script),
        record=embedded_json(record),
        change=_change,
        pair=_pair,
    )
    return without_surrogates(text).encode()


def _policy(script: str, style: str) -> str:
    """The page's security policy: no address may be asked for anything."""
    return (
        f"default-src 'none'; script-src '{_digest(script)}' 'wasm-unsafe-eval'; style-src '{_digest(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"


@cache
def _style() -> str:
    return "\n".join(_own("css", f"{name}.css") for name in _STYLES)


@cache
def _script() -> str:
    """All modules of the page as one: each in a function of its own, after those that it imports."""
    made: dict[str, str] = {}
    _add_module("main", made, ())
    return "\n".join(made.values())


def _add_module(name: str, made: dict[str, str], importers: Sequence[str]) -> None:
    if name in made:
        return
    if name in importers:
        raise InternalError(f"the page's modules import each other in a circle: {' '.join((*importers, name))}")
    text = _own("js", f"{name}.js")
    for match in _IMPORT.finditer(text):
        _add_module(match[2], made, (*importers, name))
    body = _IMPORT.sub(r"const { \1 } = module_\2;\n", text)
    exported = ", ".join(match[2] for match in _EXPORT.finditer(body))
    body = _EXPORT.sub(r"\1 \2", body)
    made[name] = f"const module_{name} = (() => {{\n{body}return {{ {exported} }};\n}})();"


def _own(folder: str, name: str) -> str:
    """A file of the page."""
    return (_FOLDER / folder / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {
        "whole": lambda value: f"{value:,}",
        "signed": _signed,
        "milliseconds": lambda value: f"{value:,.{1 if value >= 10 else 3}f}",
        "microjoules": lambda value: f"{value:,.{0 if value >= 100 else 1 if value >= 1 else 3}f}",
        "counted": lambda count, noun: f"{count:,} {noun}{'' if count == 1 else 's'}",
        "listed": _listed,
    }
    return made


def _signed(value: int) -> str:
    """A change, with a real minus."""
    return f"{value:+,}".replace("-", "\u2212")


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _change(old: int, new: int) -> Markup:
    """The cell of a change."""
    kind = "up" if new > old else "down" if new < old else "even"
    part = (new - old) / old if old else 0.0
    share = f" ({part:+.1%})".replace("-", "\u2212") if abs(part) >= _LEAST_SHARE else ""
    return _cell(f"{_signed(new - old)}{share}" if new != old else "", kind)


def _pair(figures: Sequence[int | None]) -> Markup:
    """The cells of a figure of a layer: the new one, or the old one of what was removed, and the change."""
    old, new = figures
    shown = new if new is not None else old
    return _cell(f"{shown:,}") + (_cell("") if old is None or new is None else _change(old, new))


def _cell(text: str, kind: str = "") -> Markup:
    return markup("<td $places>$text</td>", places=attributes(class_=f"number {kind}".strip()), text=element_text(text))
