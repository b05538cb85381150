"""Templates of kernels: texts in C from which the files of many kernels are made, so that a loop is written once.

A template is a C file in `templates/` whose parts begin with a comment such as

    /*= kibi_maximum_TYPE
     *  TYPE: s8 s16 s32 s64 f32
     *  VALUE: *a > *b ? *a : *b
     *  MAXIMUM. Source of the rule: TFLM, micro/kernels/maximum_minimum.h, MaximumOp. */

The name is that of the kernels that the part makes. Each line with a word in capitals says what takes the word's place in the
name, in the part, and in the last part, which is named `=` and belongs to all kernels. A word that ends in `TYPE` has one or
more types, and there is a kernel for each; with `_t` after it, the word is the type in C. All other words have a text. In the last
part, `KERNEL` is the kernel's name and `PARAMS` its struct. What is left of the comment tells the reader of the kernel's file what
it computes.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from kibi.errors import InternalError
from kibi.text.c import CCode, code, file_text, word

_PART = re.compile(r"^/\*= (\S+)\n((?: \*  [A-Z0-9_]+: .*\n)*) \*  ((?:.|\n)*?) \*/\n", re.MULTILINE)
_GROUPS = 4
_WORD = re.compile(r"^ \*  (?P<name>[A-Z0-9_]+): (?P<text>.*)$", re.MULTILINE)
_LAST = "="
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
        parts: its own part of the template, and the last one.
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
        own, last = (
            part.with_words({**self.words, "KERNEL": word(self.kernel), "PARAMS": word(struct)}) for part in self.parts
        )
        return code(
            """\
/* $about
 * Made from the template $template.c. */
#include "$header.h"

$own$last""",
            about=self.about,
            template=word(self.template),
            header=word(header),
            own=own,
            last=last,
        )


def instances(folder: Path) -> Mapping[str, Instance]:
    """Returns all that the templates of a folder make, by the kernels' names.

    Raises:
        InternalError: a template has no last part, names an unknown type, or makes a kernel that another one makes.
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
    if not parts or parts[-1][0].text != _LAST:
        raise InternalError(f"{path} has no last part that is named {_LAST}")
    *owns, (_, _, _, last) = parts
    for name, words, about, body in owns:
        for values in _fillings(words, path):
            yield Instance(name.with_words(values).text, path.stem, about.with_words(values), (body, last), values)


def _fillings(words: CCode, path: Path) -> Iterator[Mapping[str, CCode]]:
    """Yields what takes the place of the words, for each combination of the types that they may have."""
    pieces = words.pieces(_WORD)
    given = {name.text: text for name, text in zip(pieces[1::3], pieces[2::3], strict=True)}
    types = {name: text.text.split() for name, text in given.items() if name.endswith("TYPE")}
    unknown = {each for listed in types.values() for each in listed} - _TYPES.keys()
    if unknown:
        raise InternalError(f"{path} names types that are none: {', '.join(sorted(unknown))}")
    for chosen in product(*types.values()):
        values: dict[str, CCode] = {}
        for name, each in zip(types, chosen, strict=True):
            values |= {name: word(each), f"{name}_t": _TYPES[each]}
        texts = {name: text.with_words(values) for name, text in given.items() if name not in types}
        yield {**texts, **values}
