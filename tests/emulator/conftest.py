"""Small programs for the emulated core."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kibi.emulator import Core
from kibi.targets import InstructionSet, Memory, Target, targets
from kibi.targets import target as target_named
from kibi.toolchain import build_image
from tests.toolchain.tools import check_cross

Program = Callable[..., Core]
EMULATED = tuple(each.name for each in targets() if each.emulated_cpu)
THUMB = tuple(name for name in EMULATED if target_named(name).instruction_set is InstructionSet.THUMB)
RISCV = tuple(name for name in EMULATED if target_named(name).instruction_set is InstructionSet.RISCV)


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """A function that compiles C text for a target and loads it into a core."""

    def build(
        text: str,
        target: str | Target = "cortex-m4",
        *,
        entries: Sequence[str] = ("f",),
        compiler: str = "zig",
        level: str = "2",
        stack_bytes: int = 64 * 1024,
        fill: int = 0xA5,
        audit: bool = False,
        memory: Memory | None = None,
        code_in_ram: bool = False,
    ) -> Core:
        if compiler == "gcc":
            check_cross()
            if target in RISCV:
                pytest.skip("gcc is for Arm")
        source = tmp_path / "program.c"
        source.write_text("#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n" + text, encoding="utf-8")
        processor = target_named(target) if isinstance(target, str) else target
        image = build_image([source], processor, entries=entries, compiler=compiler, level=level)
        return Core(
            image,
            processor,
            stack_bytes=stack_bytes,
            fill=fill,
            audit=audit,
            memory=memory,
            code_in_ram=code_in_ram,
        )

    return build
