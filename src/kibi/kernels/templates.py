"""Templates of kernels: texts in C from which the files of many kernels are made, so that a loop is written once.

A template is a C file in `templates/` whose parts begin with a comment such as

    /*= kibi_maximum_TYPE
     *  TYPE: s8 s16 s32 s64 f32
     *  VALUE: *a > *b ? *a : *b
     *  MAXIMUM. Source of the rule: TFLM, micro/kernels/maximum_minimum.h, MaximumOp. */

The name is that of the kernels that the part makes. Each line with a word in capitals says what replaces the word in the name, in
the part, and in the part at the end of a file that is named `=` and belongs to all its kernels, where there is one.

- A word that ends in `TYPE` lists types, and there is a kernel for each; with `_t` after it, the word is the type in C.
- A word of the name lists what replaces it there, and there is a kernel for each.
- All other words have a text. Where it depends on the kernel, there are lines for the choices, which are named after the word:
  ` *  LOWEST s8: -128`, then ` *  LOWEST s16, s32: -32768`.

`KERNEL` is the kernel's name and `PARAMS` its struct. What is left of the comment tells the reader of the kernel's file what it
computes.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from kibi.errors import InternalError
from kibi.text.c import LINE_WIDTH, CCode, code, file_text, lines, word

_CHOICES = r"[a-z0-9_]+(?:, [a-z0-9_]+)*"
_LINE = rf" \*  [A-Z0-9_]+(?: {_CHOICES})?: .*\n"
_PART = re.compile(rf"^/\*= (\S+)\n((?:{_LINE})*) \*  ((?:.|\n)*?) \*/\n", re.MULTILINE)
_GROUPS = 4
_WORD = re.compile(rf"^ \*  (?P<name>[A-Z0-9_]+)(?: (?P<choices>{_CHOICES}))?: (?P<text>.*)$", re.MULTILINE)
_LAST = "="
_TYPE = "TYPE"
_TYPES = {
    "s8": code("int8_t"),
    "s16": code("int16_t"),
    "s32": code("int32_t"),
    "s64": code("int64_t"),
    "u8": code("uint8_t"),
    "u32": code("uint32_t"),
    "f32": code("float"),
    "bool": code("uint8_t"),
}


@dataclass(frozen=True, slots=True)
class Instance:
    """A kernel that is made from a template.

    Attributes:
        kernel: its name.
        template: the stem of the template's file.
        about: what the kernel's part says of it.
        parts: its own part of the template, and the one at the end of the file.
        words: what takes the place of the template's words.
    """

    kernel: str
    template: str
    about: CCode
    parts: tuple[CCode, CCode]
    words: Mapping[str, CCode]

    def text(self, header: str, struct: str) -> CCode:
        """Returns the kernel's file.

        Args:
            header: the stem of the file that declares it.
            struct: of its parameters.
        """
        words = {**self.words, "KERNEL": word(self.kernel), "PARAMS": word(struct)}
        parts = (part.with_words(words).within(LINE_WIDTH).stripped() for part in self.parts)
        head = code(
            """\
/* $about
 * Made from the template $template.c. */
#include "$header.h"
""",
            about=self.about,
            template=word(self.template),
            header=word(header),
        )
        return lines([head, *(code("\n$part\n", part=part) for part in parts if part.text)])


def instances(folder: Path) -> Mapping[str, Instance]:
    """Returns all that the templates of a folder make, by the kernels' names.

    Raises:
        InternalError: a template has no part, names an unknown type, has no text for a word of a kernel, or makes a kernel that
            another one makes.
    """
    found: dict[str, Instance] = {}
    for path in sorted(folder.glob("*.c")):
        for each in _instances_of(path):
            if each.kernel in found:
                raise InternalError(f"{path} and {found[each.kernel].template} both make {each.kernel}")
            found[each.kernel] = each
    return found


def _instances_of(path: Path) -> Iterator[Instance]:
    pieces = file_text(path).pieces(_PART)[1:]
    parts = [pieces[at : at + _GROUPS] for at in range(0, len(pieces), _GROUPS)]
    shared = parts.pop()[3] if parts and parts[-1][0].text == _LAST else code("")
    if not parts:
        raise InternalError(f"{path} has no part that makes a kernel")
    for name, words, about, body in parts:
        for values in _fillings(words, name.text, path):
            yield Instance(name.with_words(values).text, path.stem, about.with_words(values), (body, shared), values)


def _fillings(words: CCode, name: str, path: Path) -> Iterator[Mapping[str, CCode]]:
    """Yields what replaces the words, for each kernel of a part of that name."""
    pieces = words.pieces(_WORD)[1:]
    entries = [pieces[at : at + _GROUPS] for at in range(0, len(pieces), _GROUPS)]
    texts = {(each.text, choice): text for each, of, text, _ in entries for choice in of.text.split(", ")}
    given = dict.fromkeys(each for each, _ in texts)
    lists = [each for each in given if each.endswith(_TYPE) or each in name.split("_")]
    for chosen in product(*(_choices(texts, each, path) for each in lists)):
        values: dict[str, CCode] = {}
        for each, choice in zip(lists, chosen, strict=True):
            values |= {each: word(choice)} | ({f"{each}_t": _TYPES[choice]} if each.endswith(_TYPE) else {})
        others = {each: _text(texts, each, chosen, path).with_words(values) for each in given if each not in lists}
        yield values | others


def _choices(texts: Mapping[tuple[str, str], CCode], name: str, path: Path) -> list[str]:
    """Returns what a word lists."""
    listed = texts.get((name, ""), code("")).text.split()
    unknown = sorted(set(listed) - _TYPES.keys()) if name.endswith(_TYPE) else []
    if unknown or not listed:
        raise InternalError(f"{path} names types that are none: {', '.join(unknown) or name}")
    return listed


def _text(texts: Mapping[tuple[str, str], CCode], name: str, chosen: tuple[str, ...], path: Path) -> CCode:
    """Returns a word's text in the kernel with these choices."""
    found = [texts[name, choice] for choice in ("", *chosen) if (name, choice) in texts]
    if len(found) != 1:
        raise InternalError(f"{path} has {len(found)} texts for {name} in the kernel of {' '.join(chosen)}, not one")
    return found[0]
