"""The kind `rust`: a crate with a build script for the C, and a safe type that needs no standard library."""

from kibi.codegen import Library
from kibi.dtypes import DType
from kibi.ir import TensorType
from kibi.packages.golden import Golden
from kibi.packages.kind import Arrangement, Kind
from kibi.packages.readme import readme
from kibi.packages.simple import Wrapped, wrapped
from kibi.packages.sources import VERSION, moved_texts, sources_of, summary
from kibi.packages.templates import filled_text
from kibi.text.file_name import FileName
from kibi.text.package import PackageText, bare_word, lines_of, number_text, package_text

_FOLDER = "c"
_TYPES = {
    DType.S8: "i8", DType.U8: "u8", DType.S16: "i16", DType.S32: "i32", DType.U32: "u32", DType.S64: "i64", DType.U64: "u64",
    DType.F32: "f32", DType.BOOL: "u8",
}  # fmt: skip
"""Booleans are bytes of 0 or 1: the arena may hold others before an input is written."""
_VALUES = {
    DType.S8: package_text("((word >> 24) as i32 - 128) as i8"),
    DType.U8: package_text("(word >> 24) as u8"),
    DType.S16: package_text("((word >> 16) as i32 - 32768) as i16"),
    DType.F32: package_text("((word >> 24) as i32 - 128) as f32 / 128.0"),
}


def _arrange(library: Library, golden: Golden | None) -> Arrangement:
    parts = wrapped(library, golden, "rust")
    name, about = bare_word(parts.model.graph.name), summary(library)
    crate = bare_word(f"kibi-{name.text.lower().replace('_', '-')}")
    files = lines_of(package_text('        "$file",', file=bare_word(file)) for file in sources_of(library, _FOLDER))
    texts = moved_texts(library, _FOLDER)
    texts[FileName("Cargo.toml")] = filled_text(
        "rust/Cargo.toml.in",
        crate=crate,
        name=name,
        version=bare_word(VERSION),
        summary=about,
    )
    texts[FileName("README.md")] = readme(library, filled_text("rust/use.md.in", crate=crate))
    texts[FileName("build.rs")] = filled_text("rust/build.rs.in", sources=files, name=name)
    texts[FileName("lib.rs", "src")] = _safe_type(parts, name, about)
    texts[FileName("golden.rs", "examples")] = _example(parts, name)
    texts[FileName("golden.rs", "tests")] = filled_text("rust/test.rs.in")
    return Arrangement(texts, root=_FOLDER)


def _safe_type(parts: Wrapped, name: PackageText, about: PackageText) -> PackageText:
    """The crate's `lib.rs`."""
    has_reset, nothing = bool(parts.model.variable_bytes), package_text("")
    return filled_text(
        "rust/lib.rs.in",
        name=name,
        summary=about,
        arena=parts.model.arena_bytes,
        state_32=parts.model.state_bytes(4),
        state_64=parts.model.state_bytes(8),
        inputs=package_text("\n").join(
            filled_text("rust/input.rs.in", number=number, name=name, **_described(each))
            for number, each in enumerate(parts.inputs)
        ),
        outputs=package_text("\n").join(
            filled_text("rust/output.rs.in", number=number, name=name, **_described(each))
            for number, each in enumerate(parts.outputs)
        ),
        reset=filled_text("rust/reset.rs.in", name=name) if has_reset else nothing,
        reset_ffi=package_text("        pub fn ${name}_reset(model: *mut core::ffi::c_void);\n", name=name)
        if has_reset
        else nothing,
    )


def _described(kind: TensorType) -> dict[str, PackageText | int]:
    """Type and number of elements, and shape and scale as words."""
    shape = package_text(", ").join(package_text("$size", size=size) for size in kind.shape)
    about = package_text(" Its shape is [$shape].", shape=shape)
    if kind.quantization is not None and not kind.quantization.is_per_channel:
        about += package_text(
            " A number means $scale * (number - $zero).",
            scale=number_text(kind.quantization.scale),
            zero=kind.quantization.zero_point,
        )
    return {"kind": bare_word(_TYPES[kind.dtype]), "elements": kind.elements, "about": about}


def _example(parts: Wrapped, name: PackageText) -> PackageText:
    """The example that runs the golden vector."""
    inputs = lines_of(
        package_text(
            "    for (index, element) in model.input_$number().iter_mut().enumerate() {\n"
            "        let word = golden_word($number, index as u32);\n"
            "        *element = $value;\n"
            "    }",
            number=number,
            value=_VALUES.get(each.dtype) or package_text("(word >> 31) as $kind", kind=bare_word(_TYPES[each.dtype])),
        )
        for number, each in enumerate(parts.inputs)
    )
    outputs = lines_of(
        package_text(
            "        for element in model.output_$number() {\n"
            "            crc = checksum(crc, &element.to_le_bytes());\n"
            "        }",
            number=number,
        )
        for number in range(len(parts.outputs))
    )
    return filled_text("rust/golden.rs.in", name=name, inputs=inputs, outputs=outputs, crc=parts.golden.crc32)


RUST = Kind(
    name="rust",
    description="a -sys crate whose build script compiles the C, with a safe no_std type",
    tested="Built by cargo 1.95 with the crate cc 1.0.73, example and test run on Linux; the type compiled by rustc with a library "
    "of gcc. Not built for a microcontroller.",
    use="cd {directory} && cargo run --example golden",
    arrange=_arrange,
)
