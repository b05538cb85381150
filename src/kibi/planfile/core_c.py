"""The core as a library of C: the texts that run plan files, a table of kernels, and the kernels."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import numpy as np

from kibi.kernels import closure, find, header_of, kernels_called
from kibi.kernels.params import PARAMS, Params
from kibi.kernels.params.c_text import struct_text
from kibi.kernels.params.contract_operations import TAKES_NULLS, Op, depth, operations
from kibi.planfile.contracts import NEVER_KEPT, contract_of, kernel_parameters, kind_of
from kibi.planfile.kernel_ids import CORE_PARTS, ParamsForm, kernel_id, part_id, parts_of
from kibi.planfile.package_records import (
    PACKAGE,
    PACKAGE_MAGIC,
    PACKAGE_VERSION,
    SIGNATURE_BYTES,
    Payload,
    Signature,
)
from kibi.planfile.record import Record
from kibi.planfile.records import (
    MAGIC,
    MANY,
    RECORDS,
    TABLE_BYTES,
    VERSION,
    Bytes,
    Kind,
    Memory,
)
from kibi.planfile.types import TYPES
from kibi.targets import Target
from kibi.text.c import CCode, array, code, comment, file_text, hexadecimal, include, lines, type_name, word
from kibi.text.file_name import FileName

CORE = Path(__file__).parent / "core"
KERNELS = "kernels"
_CHECKPOINTS = frozenset({"kibi_newest_slot"})
"""What checkpoints need of the kernels' folder."""
_TABLE_HEADER = code(
    """\
/* The kernels of this core. */
#ifndef KIBI_KERNELS_H
#define KIBI_KERNELS_H

#include "kibi_open.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const kibi_kernels kibi_core_kernels;
extern const kibi_checked_kernels kibi_core_checked_kernels; /* the same, with what files may ask of each */

#ifdef __cplusplus
}
#endif

#endif
"""
)
_POINTERS = code(
    """\
/* Other kernels call this one, or one with the same struct: its parameters have pointers. */
#include "kibi.h"
#undef KIBI_AT
#undef KIBI_AT_IN_ASSEMBLY
#define KIBI_AT(type, params, field) KIBI_AT_POINTER(type, params, field)
#define KIBI_AT_IN_ASSEMBLY(pointer, params) ""
"""
)
_ENUMS = {"MEMORY": Memory, "BYTES": Bytes, "KIND": Kind}


def core_texts(
    kernels: Iterable[str], target: Target, without: frozenset[str] = frozenset()
) -> Mapping[FileName, CCode]:
    """Returns the files of a core with these kernels, and with all that they need.

    Args:
        kernels: names of Kibi's own kernels.
        target: the processor.
        without: parts of the kernels that are left out, by their macros: files that need them are refused.

    Raises:
        InputError: one of them is none of Kibi's own.
    """
    names = sorted(set(kernels), key=kernel_id)
    without = without & parts_of(names)
    texts = {FileName(path.name): file_text(path) for path in sorted(CORE.glob("kibi_*.[ch]"))}
    texts[FileName("kibi_features.h")] = _features(names, without)
    texts[FileName("kibi_plan_file.h")] = records_header()
    texts[FileName("kibi_package.h")] = package_header()
    texts[FileName("kibi_kernels.h")] = _TABLE_HEADER
    called = _with_pointers(names, kernels_called(names, target.kernel_sets))
    texts[FileName("kibi_kernels.c")] = _table(names, without, called)
    texts[FileName("kibi_contracts.c")] = _contracts(names, without)
    for file, text in closure(frozenset(names) | _CHECKPOINTS, target.kernel_sets).items():
        texts[FileName(file, KERNELS)] = (
            _shared_header(text, without) if file == "kibi.h" else _with_offsets(text, called)
        )
    for file_name in _files_with_pointers(texts, called):
        texts[file_name] = code("$pointers\n$text", pointers=_POINTERS, text=texts[file_name])
    if FileName("kibi_subgraph.h", KERNELS) not in texts:
        texts[FileName("kibi_subgraph.h", KERNELS)] = file_text(find("kibi_subgraph.h", target.kernel_sets))
    return texts


def _with_pointers(names: Iterable[str], called: frozenset[str]) -> frozenset[str]:
    """Returns the kernels whose structs have pointers: those that others call, and those of these names that share a struct."""
    kinds = {PARAMS[each] for each in called}
    return called | {each for each in names if PARAMS[each] in kinds}


def _files_with_pointers(texts: Mapping[FileName, CCode], called: frozenset[str]) -> tuple[FileName, ...]:
    """The files of called kernels, and those that are part of one: they are no kernels themselves, and read its struct."""
    structs = {PARAMS[each].struct for each in called}
    found = [FileName(f"{kernel}.c", KERNELS) for kernel in called]
    for name, text in texts.items():
        stem = name.path.rpartition("/")[2].removesuffix(".c")
        is_part = name.folder == KERNELS and name.suffix == ".c" and stem not in PARAMS
        if is_part and any(re.search(rf"\b{struct}\b", text.text) for struct in structs):
            found.append(name)
    return tuple(found)


def _with_offsets(text: CCode, called: frozenset[str]) -> CCode:
    """A file of kernels for a core, which reads parameters in a plan file: structs have offsets where they have pointers.

    Kernels that others call get their parameters from these, with pointers.
    """
    for kind, struct, in_file in _structs():
        if kind.struct in text.text and called.isdisjoint(kind.kernels):
            text = text.replaced(struct, in_file)
    return text


@cache
def _structs() -> tuple[tuple[type[Params], CCode, CCode], ...]:
    """Each struct of parameters with its definition in headers, and the one for parameters in a file."""
    kinds = dict.fromkeys(PARAMS.values())
    return tuple((kind, struct_text(kind), struct_text(kind, in_file=True)) for kind in kinds)


def _shared_header(header: CCode, without: frozenset[str]) -> CCode:
    """`kibi.h` for a core: constants are so many bytes from the parameters; rows may overlap; and parts are left out."""
    head, guard = header.divided("\n#endif\n")
    moves = code(
        """\
/* Kernels read their parameters in the plan file: it stores each pointer as the distance from them to the constants. */
#undef KIBI_AT
#undef KIBI_AT_IN_ASSEMBLY
#define KIBI_AT_POINTER(type, params, field) (1 ? (params)->field : (const type *)NULL)
#define KIBI_AT(type, params, field) \\
    ((const type *)(const void *)((const uint8_t *)(params) + (params)->field))
#define KIBI_AT_IN_ASSEMBLY(pointer, params) "add " pointer ", " params "\\n"
#undef KIBI_NOT_ABOVE
#undef KIBI_NOT_BELOW
#undef KIBI_NOT_ABOVE_IN_ASSEMBLY
#define KIBI_NOT_ABOVE(value, most) ((value) < (most) ? (value) : (most))
#define KIBI_NOT_BELOW(value, least) ((value) > (least) ? (value) : (least))
#define KIBI_NOT_ABOVE_IN_ASSEMBLY(value, most) "cmp " value ", " most "\\n it hi\\n movhi " value ", " most "\\n"

/* A plan file says where rows are. Where it lets them overlap, what is copied is of no use, but nothing else may happen. */
#include <string.h>
#define memcpy memmove
"""
    )
    absent = sorted(without - CORE_PARTS)
    parts = lines(code("#define $part 0\n", part=word(part)) for part in absent)
    if absent:
        parts = code("/* Parts of kernels that no model of this core needs. */\n$parts", parts=parts)
    return code("$head\n$moves$parts$guard", head=head, moves=moves, parts=parts, guard=guard)


def records_header() -> CCode:
    """Returns the header with the records of a plan file."""
    numbers = [
        code(
            "#define KIBI_${what}_$name ${value}u\n",
            what=word(what),
            name=word(each.name),
            value=each.value,
        )
        for what, enum in _ENUMS.items()
        for each in enum
    ]
    types = [
        code("#define KIBI_TYPE_$name ${value}u\n", name=word(dtype.value.upper()), value=number)
        for number, dtype in enumerate(TYPES)
    ]
    return code(
        """\
/* The records of a plan file, as they are in memory: numbers are little-endian. */
#ifndef KIBI_PLAN_FILE_H
#define KIBI_PLAN_FILE_H

#include <stdint.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "plan files are for little-endian processors"
#endif

#define KIBI_FILE_MAGIC $magic
#define KIBI_FILE_VERSION ${version}u
#define KIBI_MANY ${many}u
#define KIBI_TABLE_BYTES ${table}u
$numbers
$records
#endif
""",
        magic=hexadecimal(MAGIC),
        version=VERSION,
        many=MANY,
        table=TABLE_BYTES,
        numbers=lines([*numbers, *types]),
        records=code("\n").join(_struct(each) for each in RECORDS),
    )


def package_header() -> CCode:
    """Returns the header with the record of an update package."""
    numbers = [
        code("#define KIBI_${what}_$name ${value}u\n", what=word(what), name=word(each.name), value=each.value)
        for what, enum in (("PAYLOAD", Payload), ("SIGNATURE", Signature))
        for each in enum
    ]
    return code(
        """\
/* The record of an update package, as it is in memory: numbers are little-endian. */
#ifndef KIBI_PACKAGE_H
#define KIBI_PACKAGE_H

#include <stdint.h>

#define KIBI_PACKAGE_MAGIC $magic
#define KIBI_PACKAGE_VERSION ${version}u
#define KIBI_SIGNATURE_BYTES ${signature}u
$numbers
$record
#endif
""",
        magic=hexadecimal(PACKAGE_MAGIC),
        version=PACKAGE_VERSION,
        signature=SIGNATURE_BYTES,
        numbers=lines(numbers),
        record=_struct(PACKAGE),
    )


def _struct(record: Record) -> CCode:
    fields = (
        code(
            "    $kind $name$elements; $about",
            kind=type_name(each.c_type),
            name=word(each.name),
            elements=code("") if each.elements is None else code("[$count]", count=each.elements),
            about=comment(each.meaning),
        )
        for each in record.fields
    )
    return code(
        "${about}typedef struct {\n${fields}} kibi_file_$name;\n",
        about=comment(record.about),
        fields=lines(fields),
        name=word(record.name),
    )


def _table(kernels: list[str], without: frozenset[str], called: frozenset[str]) -> CCode:
    """The table of kernels, and for each the function that calls it; the parts that are there have an id alone."""
    headers = sorted({header_of(kernel) for kernel in kernels})
    rows, calls = {}, {}
    for part in parts_of(kernels) - without:
        about = comment(part)
        rows[part_id(part)] = code("    {$id, 0, 255u, 0, 0}, $about", id=hexadecimal(part_id(part)), about=about)
        calls[part_id(part)] = code("    NULL, $about", about=about)
    for kernel in kernels:
        form = ParamsForm.of(kernel)
        row = code(
            "    {$id, ${words}u, ${graphs}u, ${conditions}u, ${kind}u},\n",
            id=hexadecimal(kernel_id(kernel)),
            words=form.words,
            graphs=form.first_subgraph,
            conditions=form.conditions,
            kind=int(kind_of(kernel)),
        )
        rows[kernel_id(kernel)] = row
        calls[kernel_id(kernel)] = code("    call_$kernel,\n", kernel=word(kernel))
    return code(
        """\
/* The kernels of this core, by ascending id. */
#include "kibi_kernels.h"

${headers}
$calls
static const kibi_kernel table[$count] = {
${rows}};

static const kibi_call table_of_calls[$count] = {
${each}};

const kibi_kernels kibi_core_kernels = {table, table_of_calls, ${count}u};
""",
        headers=lines(include(FileName(header, KERNELS)) for header in headers),
        calls=code("\n").join(_call(kernel, has_pointers=kernel in called) for kernel in kernels),
        count=len(rows),
        rows=lines(rows[each] for each in sorted(rows)),
        each=lines(calls[each] for each in sorted(calls)),
    )


def _contracts(kernels: list[str], without: frozenset[str]) -> CCode:
    """The contracts of the kernels, in a file of their own: who trusts all files does not link it."""
    contracts = [
        array(code("static const uint8_t contract_$kernel[$count]", kernel=word(kernel), count=len(data)), data)
        for kernel in kernels
        for data in [np.frombuffer(contract_of(kernel, without), np.uint8)]
    ]
    names = {kernel_id(kernel): code("    contract_$kernel,\n", kernel=word(kernel)) for kernel in kernels}
    parts = parts_of(kernels) - without
    names |= {part_id(part): code("    contract_of_parts,\n") for part in parts}
    if parts:
        never = array(
            code("static const uint8_t contract_of_parts[$count]", count=len(NEVER_KEPT)),
            np.frombuffer(NEVER_KEPT, np.uint8),
        )
        contracts.append(code("/* No node keeps to it: parts are no kernels. */\n$never", never=never))
    return code(
        """\
/* What files may ask of each kernel, as kibi_contract.c evaluates it; in the order of the kernels. */
#include "kibi_kernels.h"

$contracts
static const uint8_t *const contracts[$count] = {
${names}};

const kibi_checked_kernels kibi_core_checked_kernels = {&kibi_core_kernels, contracts};
""",
        contracts=code("\n").join(contracts),
        count=len(names),
        names=lines(names[each] for each in sorted(names)),
    )


def _features(kernels: list[str], without: frozenset[str]) -> CCode:
    """The header that says what the kernels ask of the core: the rest of it is left out when it is compiled."""
    forms = [ParamsForm.of(kernel) for kernel in kernels]
    contracts = [contract_of(kernel, without) for kernel in kernels]
    parts = [part for contract in contracts for part in operations(contract)]
    used = {operation for operation, _ in parts}
    inputs = (data[0] for operation, data in parts if operation in (Op.GROUP, Op.GROUPS, Op.TABLE_INPUTS))
    longs = any(operation is Op.ARRAY and data[0] >> 6 == 3 for operation, data in parts)
    runs_graphs = any(form.first_subgraph < form.words for form in forms)
    numbers = (code("#define KIBI_OP_$name ${value}u\n", name=word(each.name), value=each.value) for each in Op)
    uses = (code("#define KIBI_USES_$name ${value}\n", name=word(each.name), value=int(each in used)) for each in Op)
    return code(
        """\
/* What the kernels of this core ask of it. What none of them asks for is left out. */
#ifndef KIBI_FEATURES_H
#define KIBI_FEATURES_H

/* Kernels run graphs. */
#define KIBI_CORE_GRAPHS $graphs
/* Kernels have states, or run graphs: they may end an inference early. */
#define KIBI_CORE_ENDS_EARLY $ends

/* Kernels take null pointers in place of rows. */
#define KIBI_CORE_NULLS $nulls
/* Kernels have arrays of 64-bit elements. */
#define KIBI_CORE_LONGS $longs
/* Parts of the core: for external buffers, 16-bit entries of runs, evenly spaced rows, variables, inputs by the row, 32-bit entries
 * of runs. */
$parts
/* The most numbers that contracts of this core's kernels put on the stack. */
#define KIBI_CONTRACT_DEPTH $depth
/* The operations of contracts, */
$numbers
/* and whether the contracts of this core's kernels have them. */
$uses
#endif
""",
        graphs=int(runs_graphs),
        ends=int(runs_graphs or any(name == "states" for kernel in kernels for _, name in kernel_parameters(kernel))),
        nulls=int(any(kind & TAKES_NULLS for kind in inputs)),
        longs=int(longs),
        depth=max((depth(contract) for contract in contracts), default=1),
        parts=lines(
            code("#define $part $value\n", part=word(part), value=int(part not in without))
            for part in sorted(CORE_PARTS)
        ),
        numbers=lines(numbers),
        uses=lines(uses),
    )


def _call(kernel: str, *, has_pointers: bool) -> CCode:
    """The function that calls a kernel, whose parameters are in the file, or are filled with pointers here."""
    names = {each: code("kibi_$name(rows)", name=word(each)) for each in ("outputs", "states", "step")}
    names["bodies"] = code("(const kibi_subgraph *const *)(const void *)kibi_bodies(rows)")
    parameters = kernel_parameters(kernel)
    given = (
        code("(const $kind *const *)rows", kind=word(kind))
        if name == "rows"
        else code("&filled")
        if name == "params" and has_pointers
        else names.get(name, word(name))
        for kind, name in parameters
    )
    taken = {name for _, name in parameters}
    unused = code("    (void)output;\n") if "output" not in taken else code("")
    return code(
        """\
${about}static void call_$kernel(void *output, const void *const *rows, const void *params, void *scratch)
{
$unused$filled    $kernel($given);
}
""",
        about=_params_in_file(kernel) if has_pointers else code(""),
        kernel=word(kernel),
        unused=unused,
        filled=_filled(kernel) if has_pointers else code(""),
        given=code(", ").join(given),
    )


def _params_in_file(kernel: str) -> CCode:
    """The struct of parameters as files have it, for a kernel that other kernels call."""
    text = struct_text(PARAMS[kernel], in_file=True)
    named = text.with_words({PARAMS[kernel].struct: code("${kernel}_in_file", kernel=word(kernel))})
    return code(
        "/* Parameters in a file; other kernels call this one with pointers in theirs. */\n$named\n", named=named
    )


def _filled(kernel: str) -> CCode:
    """The lines that make the parameters with pointers."""
    kind = PARAMS[kernel]
    values = (
        code("KIBI_AT($kind, in_file, $name)", kind=type_name(each.type), name=word(each.name))
        if each.is_pointer
        else code("in_file->$name", name=word(each.name))
        for each in kind.members()
    )
    return code(
        """\
    const ${kernel}_in_file *const in_file = (const ${kernel}_in_file *)params;
    const $struct filled = {
$values
    };
""",
        kernel=word(kernel),
        struct=word(kind.struct),
        values=code(",\n").join(code("        $value", value=value) for value in values),
    )
