"""Parameter structs as text in C: the definition in a kernel's header, and checks of its layout."""

from kibi.kernels.params.description import Field, Params
from kibi.kernels.params.layout import Layout
from kibi.text.c import LINE_WIDTH, CCode, code, comment, lines, remark, word

_INDENT = "    "
_POINTER_BYTES = (4, 8)


def struct_text(kind: type[Params], *, in_file: bool = False) -> CCode:
    """Returns the definition of the struct, with what each field means.

    Args:
        kind: the struct.
        in_file: True for parameters in a plan file: a pointer is a number of bytes there, from the struct to the constants.
    """
    fields = kind.members()
    width = max((len(_declared(each, in_file).text) for each in fields if each.meaning), default=0)
    return code(
        "typedef struct {\n$fields} $struct;\n",
        fields=lines(_field_text(each, width, in_file) for each in fields),
        struct=word(kind.struct),
    )


def _declared(field: Field, in_file: bool) -> CCode:
    kind, name = word(field.type), word(field.name)
    if field.is_pointer and in_file:
        return code("    int32_t $name;", name=name)
    if field.is_pointer:
        return code("    const $kind *$name;", kind=kind, name=name)
    return code("    $kind $name;", kind=kind, name=name)


def _field_text(field: Field, width: int, in_file: bool) -> CCode:
    """Returns a field, with its meaning after it, beginning in the column `width`, or before it where that is long."""
    declared = _declared(field, in_file)
    if not field.meaning:
        return code("$declared\n", declared=declared)
    meaning = field.meaning.replace("…", "...")
    gap = code(" ").join([code("")] * (width + 2 - len(declared.text)))
    after = code("$declared$gap$meaning\n", declared=declared, gap=gap, meaning=remark(meaning))
    if len(after.text) <= LINE_WIDTH:
        return after
    return code("$meaning$declared\n", meaning=comment(meaning, _INDENT), declared=declared)


def layout_checks(kind: type[Params]) -> CCode:
    """Returns C that does not compile unless the struct has the size and the offsets that `Layout` says.

    It needs the header that defines the struct, `stddef.h` and `stdint.h`.
    """
    return lines(_checks_of(kind, pointer_bytes) for pointer_bytes in _POINTER_BYTES)


def _checks_of(kind: type[Params], pointer_bytes: int) -> CCode:
    layout, name = Layout.of(kind, pointer_bytes, with_graphs=False), word(kind.struct)
    offsets = lines(
        code(
            "typedef char ${struct}_has_${field}_at_$offset[offsetof($struct, $field) == $offset ? 1 : -1];\n",
            struct=name,
            field=word(each.name),
            offset=offset,
        )
        for each, offset in zip(kind.members(), layout.offsets, strict=True)
    )
    return code(
        """\
#if UINTPTR_MAX == $most
${offsets}typedef char ${struct}_has_${size}_bytes[sizeof($struct) == $size ? 1 : -1];
#endif
""",
        most=word("UINT32_MAX" if pointer_bytes == _POINTER_BYTES[0] else "UINT64_MAX"),
        offsets=offsets,
        struct=name,
        size=layout.size_bytes,
    )
