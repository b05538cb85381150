"""A recorded program as C that a person could have written: one function, which takes a context and the program's buffers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from kibi.eager.program import (
    Called,
    Evaluated,
    Freed,
    Made,
    Program,
    Rebalanced,
    RecordedTensor,
    Stepped,
    Written,
)
from kibi.eager.shapes import STORED_DIMENSIONS
from kibi.eager_c.calls import OperatorCall, function_call, operator_call
from kibi.errors import InputError
from kibi.ir import TensorType
from kibi.text.c import CCode, array, code, comment, element_type, identifier, lines, literal, name_words, word
from kibi.text.file_name import FileName
from kibi.text.reserved import why_reserved

_TAKEN = ("context", "status", "main")


@dataclass(frozen=True, slots=True)
class ProgramInC:
    """A program in C.

    Attributes:
        files: its header and its source, by name.
        operators: names of the operators that it calls, as `kibi.eager_c.sources.operators` has them.
    """

    files: Mapping[FileName, CCode]
    operators: tuple[str, ...]


def program_in_c(program: Program) -> ProgramInC:
    """Returns a recorded program as C.

    Raises:
        InputError: it does what the library cannot, or does nothing.
    """
    writer = _Writer(program)
    body = [writer.step(step) for step in program.steps]
    if not any(isinstance(step, Evaluated | Called) for step in program.steps):
        raise InputError(
            f"the program {program.name!r} evaluates no operator. Call eval() inside the with-block of record()."
        )
    name = identifier(program.name, "the program")
    declaration = writer.declaration(name)
    header = code(
        """\
/* A program by hand, as Python recorded it. */
#ifndef KIBI_PROGRAM_${guard}_H
#define KIBI_PROGRAM_${guard}_H

#include "kibi_eager.h"

#ifdef __cplusplus
extern "C" {
#endif

$about$declaration;

#ifdef __cplusplus
}
#endif

#endif
""",
        guard=name.upper(),
        about=writer.about(),
        declaration=declaration,
    )
    source = code(
        """\
#include "${name}.h"

$constants
$declaration
{
$tensors    kibi_status status = KIBI_OK;

$body
$frees    return status;
}
""",
        name=name,
        constants=lines(writer.constants()),
        declaration=declaration,
        tensors=lines(writer.tensors()),
        body=lines(body),
        frees=lines(writer.frees()),
    )
    files = {FileName(f"{program.name}.h"): header, FileName(f"{program.name}.c"): source}
    return ProgramInC(files, tuple(sorted(writer.operators)))


class _Writer:
    """Makes the parts of the C of one program."""

    def __init__(self, program: Program) -> None:
        self._tensors = [step.tensor for step in program.steps if isinstance(step, Made)]
        constants = _arguments(program)
        self._tensors = [tensor for tensor in self._tensors if tensor.number not in constants]
        self._names = _names(self._tensors)
        self._outputs = {tensor.number for step in program.steps for tensor in _made_by(step)}
        self._written: list[tuple[CCode, bytes]] = []
        self._options: list[CCode] = []
        self._skipped = constants
        self.operators: set[str] = set()
        for tensor in self._tensors:
            self._check(tensor)

    def declaration(self, name: CCode) -> CCode:
        """The function's head."""
        parameters = [code("const kibi_context *context"), *self._parameters()]
        joined = code("kibi_status $name($parameters)", name=name, parameters=code(", ").join(parameters))
        return joined.within(120)

    def about(self) -> CCode:
        """The comment on the function."""
        given = [tensor for tensor in self._tensors if tensor.kind in ("buffer", "camera")]
        texts = [f"{self._names[tensor.number].text}: {_described(tensor, self._is_made(tensor))}" for tensor in given]
        return comment(
            "\n".join(["Returns KIBI_OK, or what was wrong; tensors in the RAM arena are given back.", *texts])
        )

    def constants(self) -> Iterator[CCode]:
        """The types of all tensors, and the elements of constants."""
        for tensor in self._tensors:
            name = self._names[tensor.number]
            yield _type(name, tensor.type)
            if tensor.data is not None:
                kind = element_type(tensor.type.dtype)
                head = code("static const $kind ${name}_data[$n]", kind=kind, name=name, n=tensor.data.size)
                yield array(head, tensor.data.reshape(-1)) + code("\n")
        for name, data in self._written:
            values = np.frombuffer(data, np.uint8)
            yield array(code("static const uint8_t $name[$n]", name=name, n=len(data)), values) + code("\n")
        yield from self._options

    def tensors(self) -> Iterator[CCode]:
        """The local variables."""
        for tensor in self._tensors:
            name = self._names[tensor.number]
            if tensor.kind == "ram":
                yield code("    kibi_ram_tensor $name = {{NULL, NULL}, {NULL, 0}};\n", name=name)
            elif tensor.kind == "rom":
                yield code(
                    "    kibi_rom_tensor $name = {{&kibi_rom_access, &${name}_type}, ${name}_data};\n", name=name
                )
            elif tensor.kind == "camera":
                yield code(
                    "    kibi_camera_tensor $name = {{&kibi_camera_access, &${name}_type}, ${name}_source, ${name}_state, "
                    "(uint8_t *)${name}_rows, $keep, 0};\n",
                    name=name,
                    keep=tensor.keep,
                )
            else:
                kind = word("buffer" if self._is_made(tensor) else "rom")
                yield code(
                    "    kibi_${kind}_tensor $name = {{&kibi_${kind}_access, &${name}_type}, ${name}_data};\n",
                    kind=kind,
                    name=name,
                )

    def frees(self) -> Iterator[CCode]:
        """The end of the tensors in the RAM arena; one that has none does nothing."""
        for tensor in self._tensors:
            if tensor.kind == "ram":
                yield code("    (void)kibi_ram_tensor_free(context, &$name);\n", name=self._names[tensor.number])

    def step(self, step: object) -> CCode:
        """The statements of a step.

        Raises:
            InputError: the library cannot do it.
        """
        if isinstance(step, Evaluated):
            return self._evaluated(operator_call(step.op, step.operands))
        if isinstance(step, Called):
            return self._evaluated(function_call(step.name, step.operands, step.options))
        if isinstance(step, Written):
            return code("") if step.tensor.number in self._skipped else self._write(step)
        if isinstance(step, Rebalanced):
            return code("    (void)kibi_rebalance(context->ram);\n")
        if isinstance(step, Stepped):
            raise InputError(
                f"{step.op.name}: the program calls single steps of an operator, which the C library evaluates as a whole. "
                "Record eval() instead."
            )
        if isinstance(step, Made | Freed) and step.tensor.kind == "ram" and step.tensor.number not in self._skipped:
            name = self._names[step.tensor.number]
            if isinstance(step, Made):
                return _tried(code("kibi_ram_tensor_init(context, &$name, &${name}_type)", name=name))
            return _tried(code("kibi_ram_tensor_free(context, &$name)", name=name))
        return code("")

    def _evaluated(self, call: OperatorCall) -> CCode:
        self.operators.add(call.name)
        bases = [
            code("NULL") if tensor is None else code("&$name.base", name=self._names[tensor.number])
            for tensor in call.operands
        ]
        if call.joined:
            count = len(bases) - 1
            listed = code("(kibi_tensor *const[]){$inputs}", inputs=code(", ").join(bases[1:]))
            bases = [bases[0], listed, code("$count", count=count)]
        options = [] if call.options is None else [self._constant_options(*call.options)]
        arguments = code(", ").join([code("context"), *bases, *call.arguments, *options])
        return _tried(code("kibi_op_$name($arguments)", name=word(call.name), arguments=arguments))

    def _constant_options(self, kind: CCode, value: CCode) -> CCode:
        """The address of a constant with an operator's options."""
        name = code("options_$number", number=len(self._options) + 1)
        self._options.append(code("static const $kind $name = $value;\n", kind=kind, name=name, value=value))
        return code("&$name", name=name)

    def _write(self, step: Written) -> CCode:
        name = self._names[step.tensor.number]
        number = len(self._written)
        constant = code("${name}_bytes_$number", name=name, number=number)
        self._written.append((constant, step.data))
        call = code(
            "kibi_write(context, &$name.base, $offset, $constant, sizeof $constant)",
            name=name,
            offset=step.offset,
            constant=constant,
        )
        return _tried(call)

    def _parameters(self) -> Iterator[CCode]:
        for tensor in self._tensors:
            name, kind = self._names[tensor.number], element_type(tensor.type.dtype)
            if tensor.kind == "buffer":
                constant = code("") if self._is_made(tensor) else code("const ")
                yield code("$constant$kind *${name}_data", constant=constant, kind=kind, name=name)
            elif tensor.kind == "camera":
                yield code("int (*${name}_source)(void *state, uint32_t row, void *to)", name=name)
                yield code("void *${name}_state", name=name)
                yield code("$kind *${name}_rows", kind=kind, name=name)

    def _is_made(self, tensor: RecordedTensor) -> bool:
        return tensor.number in self._outputs

    def _check(self, tensor: RecordedTensor) -> None:
        if tensor.kind not in ("ram", "rom", "buffer", "camera"):
            raise InputError(
                f"the tensor {tensor.name!r} is a {tensor.kind}, of which this makes no C. Use a RamTensor, RomTensor, "
                "BufferTensor or CameraTensor, or write the function by hand: kibi_tensor.h has rows and devices, too."
            )


def _made_by(step: object) -> list[RecordedTensor]:
    """The tensors that an operator makes."""
    if isinstance(step, Called):
        return [step.operands["output"]]
    if not isinstance(step, Evaluated):
        return []
    names = [name.rstrip("?") for name in step.op.outputs]
    return [step.operands[name] for name in names if name in step.operands]


def _arguments(program: Program) -> frozenset[int]:
    """The tensors that are only arguments in C: axes, permutations, shapes."""
    used: dict[int, set[str]] = {}
    for step in program.steps:
        for name, tensor in step.operands.items() if isinstance(step, Evaluated | Called) else ():
            used.setdefault(tensor.number, set()).add(name)
    arguments = {"axis", "axes", "perm", "begin", "end", "strides", "shape", "size"}
    return frozenset(number for number, names in used.items() if names <= arguments)


def _names(tensors: list[RecordedTensor]) -> Mapping[int, CCode]:
    """A name for each tensor: its own, as far as C takes it, and no two alike."""
    names: dict[int, CCode] = {}
    taken = set(_TAKEN)
    for tensor in tensors:
        stem = name_words(tensor.name).text or "tensor"
        stem = f"{stem}_tensor" if why_reserved(stem) or stem in _TAKEN else stem
        choices = (stem if number == 0 else f"{stem}_{number}" for number in range(len(tensors) + 1))
        text = next(choice for choice in choices if choice not in taken)
        taken.add(text)
        names[tensor.number] = word(text)
    return names


def _type(name: CCode, kind: TensorType) -> CCode:
    """The constants of a tensor's type."""
    quantization = kind.quantization
    channels, address = code(""), code("NULL")
    if quantization is not None:
        pairs = [
            code("{$scale, $zero}", scale=literal(scale, "float"), zero=zero)
            for scale, zero in zip(quantization.scales, quantization.zero_points, strict=True)
        ]
        listed = code(", ").join(pairs)
        channels = code("static const kibi_channel ${name}_scale[] = {$listed};\n", name=name, listed=listed).within(
            120
        )
        address = code("${name}_scale", name=name)
    if len(kind.shape) > STORED_DIMENSIONS:
        raise InputError(
            f"a tensor of {len(kind.shape)} axes has more than {STORED_DIMENSIONS}, which the C library stores."
        )
    sizes = code(", ").join([code("$size", size=size) for size in (*kind.shape, 0)[:STORED_DIMENSIONS]])
    return channels + code(
        "static const kibi_tensor_type ${name}_type = {{$sizes}, $address, $rank, KIBI_TYPE_$dtype, $axis, $each};\n",
        name=name,
        sizes=sizes,
        address=address,
        rank=len(kind.shape),
        dtype=word(kind.dtype.value.upper()),
        axis=0 if quantization is None else quantization.axis,
        each=int(quantization is not None and quantization.is_per_channel),
    )


def _tried(call: CCode) -> CCode:
    """A call that is made if all before it succeeded."""
    statement = code("        status = $call;\n", call=call).within(120)
    return code("    if (status == KIBI_OK) {\n$statement    }\n", statement=statement)


def _described(tensor: RecordedTensor, is_made: bool) -> str:
    what = "written" if is_made else "read"
    rows = f"; its source gives rows, and there is room for {tensor.keep} of them" if tensor.kind == "camera" else ""
    return f"{tensor.type}, {what}{rows}."
