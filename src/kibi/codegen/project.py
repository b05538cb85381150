"""Writes the files that make a library ready to use: a `CMakeLists.txt` and an `example_main.c`."""

from collections.abc import Sequence

from kibi.codegen.emit_context import EmitContext
from kibi.codegen.memory_c import arena_bytes, region_macro
from kibi.text.c import CCode, code, element_type, identifier, lines, string_literal
from kibi.text.cmake import CMakeText, argument, cmake
from kibi.text.file_name import FileName


def cmake_lists(
    library: str, sources: Sequence[FileName], first_lines: CMakeText, weights: FileName | None = None
) -> CMakeText:
    """A build file with the library and the example; `weights` is the file that the example reads them from, or None."""
    listed = (cmake("  $source", source=argument(each)) for each in sorted(sources, key=lambda each: each.path))
    return cmake(
        """\
$first_lines
cmake_minimum_required(VERSION 3.13)
project($library C)

add_library($library STATIC
$sources)
target_include_directories($library PUBLIC $${CMAKE_CURRENT_SOURCE_DIR})
set_target_properties($library PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON)

add_executable(${library}_example example_main.c)
target_link_libraries(${library}_example PRIVATE $library)
$weights""",
        first_lines=first_lines,
        library=argument(library),
        sources=cmake("\n").join(listed),
        weights=cmake("") if weights is None else _weights_file(library, weights),
    )


def _weights_file(library: str, weights: FileName) -> CMakeText:
    """The lines that tell the example where the weights are."""
    return cmake(
        """target_compile_definitions(${library}_example PRIVATE WEIGHTS_FILE="$${CMAKE_CURRENT_SOURCE_DIR}/$weights")
""",
        library=argument(library),
        weights=argument(weights),
    )


def example_main(b: EmitContext) -> CCode:
    """A program that runs a model once on inputs of zeros and prints its first output."""
    output = b.graph.tensors[b.graph.outputs[0]].type.dtype
    convert, form = (code("(double)"), "%g\n") if output.c == "float" else (code("(int)"), "%d\n")
    return code(
        """\
#include <stdio.h>
#include <string.h>

#include "${name}.h"

$memory$storage
int main(void)
{
    ${name}_t model;
${begin}${hand_over}    if (${name}_invoke(&model) != KIBI_OK) {
        return 1;
    }
    const $kind *const output = (const $kind *)${name}_output(&model, 0);
    for (unsigned i = 0; i < ${upper}_OUTPUT_0_ELEMENTS; ++i) {
        printf($form, ${convert}output[i]);
    }
    return 0;
}
""",
        name=b.prefix,
        upper=b.upper,
        memory=_memory(b),
        storage=_storage(b),
        begin=_begin(b),
        hand_over=_hand_over(b),
        kind=element_type(output),
        form=string_literal(form),
        convert=convert,
    )


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
        code("    if ($call != KIBI_OK) {\n        return 1;\n    }\n", call=call) for call in calls
    )


def _hand_over(b: EmitContext) -> CCode:
    """Zeros for the inputs, as the plan takes them."""
    if not b.streams:
        return code(
            "    memset(${name}_input(&model, 0), 0, ${upper}_INPUT_0_BYTES); "
            "/* write real inputs here, before each inference */\n",
            name=b.prefix,
            upper=b.upper,
        )
    kind, has_several = b.c_type(b.graph.inputs), len(b.graph.inputs) > 1
    row = code("(const $kind *)(const void *)row", kind=kind)
    if kind.text == "void" or has_several:
        row = code("(const void *)row")
    return code(
        """\
    static const uint64_t row[(${longest}u + 7u) / 8u]; /* real rows come from a camera or a microphone */
    for (int input = ${name}_expected_input(&model); input >= 0; input = ${name}_expected_input(&model)) {
        if (${name}_push_row(&model, ${which}${row}) != KIBI_OK) {
            return 1;
        }
    }
""",
        longest=max(b.graph.tensors[index].type.row_bytes for index in b.graph.inputs),
        name=b.prefix,
        which=code("(unsigned)input, ") if has_several else code(""),
        row=row,
    )
