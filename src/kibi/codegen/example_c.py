"""C text of examples: the memory of a model, an inference on a golden vector, and whether the bits of the outputs are equal."""

from dataclasses import dataclass

from kibi.codegen.emit_context import EmitContext
from kibi.codegen.memory_c import arena_bytes, region_macro
from kibi.dtypes import DType
from kibi.text.c import CCode, code, element_type, identifier, lines, string_literal

_VALUES = {
    DType.S8: code("(int8_t)((int)(word >> 24) - 128)"),
    DType.U8: code("(uint8_t)(word >> 24)"),
    DType.S16: code("(int16_t)((int32_t)(word >> 16) - 32768)"),
    DType.F32: code("(float)((int32_t)(word >> 24) - 128) / 128.0f"),
}
"""An element of a golden input, of a word of 32 bits; elements of other types are 0 or 1, because they may be indices."""


@dataclass(frozen=True, slots=True)
class ExampleText:
    """The parts of an example, in the language that C and C++ share.

    Attributes:
        includes: the header of the model.
        memory: the arena, or the regions, and the external buffers.
        storage: the function that reads weights from slow memory, here from a file; empty where they are constants.
        begin: the calls that give the model its memory.
        hand_over: the statements that hand over the golden inputs.
        outputs: the statements that add the outputs to the checksum.
        show: the statements that print the first output.
        reads_file: True if `storage` needs a file.
    """

    includes: CCode
    memory: CCode
    storage: CCode
    begin: CCode
    hand_over: CCode
    outputs: CCode
    show: CCode
    reads_file: bool


def example_text(b: EmitContext) -> ExampleText:
    """The parts of the example of a model."""
    return ExampleText(
        includes=code('#include "${name}.h"\n', name=b.prefix),
        memory=_memory(b),
        storage=_storage(b),
        begin=_begin(b),
        hand_over=_pushed(b) if b.streams else _written(b),
        outputs=_outputs(b),
        show=_show(b),
        reads_file=bool(b.plan.slow_weights is not None and b.fetches),
    )


def _outputs(b: EmitContext) -> CCode:
    """The checksum of all outputs, one after another."""
    return lines(
        code(
            "    crc = checksum(crc, ${name}_output(&model, ${number}), ${upper}_OUTPUT_${number}_BYTES);\n",
            name=b.prefix,
            upper=b.upper,
            number=number,
        )
        for number in range(len(b.graph.outputs))
    )


def _show(b: EmitContext) -> CCode:
    """The first output, one element in a line."""
    output = b.graph.tensors[b.graph.outputs[0]].type.dtype
    convert, form = (code("(double)"), "%g\n") if output.c == "float" else (code("(int)"), "%d\n")
    return code(
        """\
    const $kind *const output = (const $kind *)${name}_output(&model, 0);
    for (unsigned i = 0; i < ${upper}_OUTPUT_0_ELEMENTS; ++i) {
        printf($form, ${convert}output[i]);
    }
""",
        name=b.prefix,
        upper=b.upper,
        kind=element_type(output),
        form=string_literal(form),
        convert=convert,
    )


def _value(dtype: DType) -> CCode:
    """An element of a golden input, of a `word`."""
    return _VALUES.get(dtype) or code("($kind)(word >> 31)", kind=element_type(dtype))


def _words(name: CCode, size: CCode, size_bytes: int) -> CCode:
    """An array for so many bytes; C has no arrays of none."""
    if not size_bytes:
        return code("static uint64_t $name[1];\n", name=name)
    return code("static uint64_t $name[($size + 7u) / 8u];\n", name=name, size=size)


def _region(b: EmitContext, region: str) -> CCode:
    """The array of a region: any region's name may follow these words, even `int`."""
    return code("region_$name", name=b.region_name(region))


def _memory(b: EmitContext) -> CCode:
    """Static memory for everything: words, because they are aligned."""
    parts = [code("/* The caller owns all memory; words align it. */\n")]
    parts += [
        _words(_region(b, use.name), code("${name}_BYTES", name=region_macro(b, use.name)), use.used_bytes)
        for use in b.regions
    ]
    if not b.regions:
        parts.append(_words(code("arena"), code("${upper}_ARENA_BYTES", upper=b.upper), arena_bytes(b)))
    for number, index in enumerate(b.external):
        size = code("${upper}_EXTERNAL_${number}_BYTES", upper=b.upper, number=number)
        size_bytes = b.graph.tensors[index].type.size_bytes
        parts.append(_words(code("external_$number", number=number), size, size_bytes))
    return lines(parts)


def _storage(b: EmitContext) -> CCode:
    """The function that reads weights, here from a file; nothing where they are constants."""
    if b.plan.slow_weights is None or not b.fetches:
        return code("")
    names = [identifier(each, "the function that reads weights") for each in b.plan.slow_weights.functions]
    is_ahead = b.plan.slow_weights.ahead
    wait = code("""
/* On a device: waits for the end of the transfer, for instance for the interrupt of the DMA. */
int $wait(void)
{
    return 0; /* a file is read at once */
}
""", wait=names[-1]) if is_ahead else code("")  # fmt: skip
    return code(
        """
/* $what weights from a file; on a device from SPI flash, an SD card or a host. */
#ifndef WEIGHTS_FILE
#define WEIGHTS_FILE "${name}_weights.bin"
#endif

int $function(void *to, uint32_t offset, uint32_t bytes)
{
    FILE *const file = fopen(WEIGHTS_FILE, "rb");
    if (file == NULL) {
        return 1;
    }
    const int is_read = fseek(file, (long)offset, SEEK_SET) == 0 && fread(to, 1, bytes, file) == bytes;
    return fclose(file) == 0 && is_read ? 0 : 1;
}
$wait""",
        what=code("Begins to read") if is_ahead else code("Reads"),
        name=b.prefix,
        function=names[0],
        wait=wait,
    )


def _begin(b: EmitContext) -> CCode:
    """The calls that give the model its memory."""
    declared, arguments = code(""), code("arena, sizeof arena")
    if b.regions:
        names = [_region(b, use.name) for use in b.regions]
        declared = code(
            """\
    void *const regions[] = {$names};
    const size_t bytes[] = {$sizes};
""",
            names=code(", ").join(names),
            sizes=code(", ").join(code("sizeof $name", name=name) for name in names),
        )
        arguments = code("regions, bytes")
    calls = [code("${name}_init(&model, $arguments)", name=b.prefix, arguments=arguments)]
    calls += [
        code(
            "${name}_set_external_buffer(&model, ${number}u, external_$number, sizeof external_$number)",
            name=b.prefix,
            number=number,
        )
        for number in range(len(b.external))
    ]
    return declared + lines(
        code("    if ($call != KIBI_OK) {\n        return -1;\n    }\n", call=call) for call in calls
    )


def _written(b: EmitContext) -> CCode:
    """The inputs, written where the model reads them."""
    return lines(
        code(
            """\
    $kind *const input_$number = ($kind *)${name}_input(&model, ${number}); /* write real data here */
    for (uint32_t i = 0; i < ${upper}_INPUT_${number}_ELEMENTS; ++i) {
        const uint32_t word = golden_word(${number}u, i);
        input_$number[i] = $value;
    }
""",
            name=b.prefix,
            upper=b.upper,
            number=number,
            kind=element_type(b.graph.tensors[index].type.dtype),
            value=_value(b.graph.tensors[index].type.dtype),
        )
        for number, index in enumerate(b.graph.inputs)
    )


def _pushed(b: EmitContext) -> CCode:
    """The rows of the inputs, handed over one by one as the plan takes them."""
    types = [b.graph.tensors[index].type for index in b.graph.inputs]
    kind, has_several = b.c_type(b.graph.inputs), len(types) > 1
    row = code("(const $kind *)(const void *)row", kind=kind)
    if kind.text == "void" or has_several:
        row = code("(const void *)row")
    cases = lines(
        code(
            """\
        ${before}if (number == ${number}) {
            for (uint32_t i = 0; i < ${elements}u; ++i) {
                const uint32_t word = golden_word(${number}u, rows[${number}] * ${elements}u + i);
                (($kind *)(void *)row)[i] = $value;
            }
        }
""",
            before=code("else ") if number else code(""),
            number=number,
            elements=each.row_bytes // each.dtype.size_bytes,
            kind=element_type(each.dtype),
            value=_value(each.dtype),
        )
        for number, each in enumerate(types)
    )
    return code(
        """\
    static uint64_t row[(${longest}u + 7u) / 8u]; /* real rows come from a camera or a microphone */
    uint32_t rows[${count}] = {0};
    for (int number = ${name}_expected_input(&model); number >= 0; number = ${name}_expected_input(&model)) {
$cases        ++rows[number];
        if (${name}_push_row(&model, ${which}${row}) != KIBI_OK) {
            return -1;
        }
    }
""",
        longest=max(each.row_bytes for each in types),
        count=len(types),
        name=b.prefix,
        cases=cases,
        which=code("(unsigned)number, ") if has_several else code(""),
        row=row,
    )
