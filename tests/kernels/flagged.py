"""A model on the emulated core, built with flags that Kibi does not use itself."""

from collections.abc import Sequence
from pathlib import Path

import pytest

import kibi
from kibi.dtypes import Array
from kibi.engines import DeviceEngine
from kibi.ir import Graph
from kibi.planner import Plan
from kibi.targets import Target
from kibi.toolchain import Image, MemoryLayout, compile_objects, layout_of, read_image
from kibi.toolchain.link import link_device


def run_flagged(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    model: Graph,
    plan: Plan,
    inputs: Sequence[Array],
    core: Target,
    compiler: str,
    flags: Sequence[str],
    *,
    language: str = "c99",
    further: Sequence[Path] = (),
) -> list[Array]:
    """Compiles the library of a plan and the program around it with flags, and runs it.

    Args:
        monkeypatch: replaces the builder of programs.
        folder: gets the library and the program.
        model: what runs.
        plan: how it runs.
        inputs: one array for each of its inputs.
        core: the processor, with its own flags.
        compiler: `gcc` or `zig`.
        flags: after all others, for the model's code alone.
        language: `c99` or `c++17`.
        further: object files that are linked, too.
    """

    def build(
        sources: Sequence[Path],
        _: Target,
        *,
        entries: Sequence[str],
        compiler: str,
        level: str,
        includes: Sequence[Path],
        layout: MemoryLayout | None,
    ) -> Image:
        places = layout or layout_of(core)
        objects = compile_objects(
            sources, core, compiler=compiler, level=level, includes=includes, language=language, flags=flags
        )
        link_device([*objects, *further], core, entries, compiler, folder / "image.elf", places)
        return read_image(folder / "image.elf", places)

    library = kibi.compile(model, plan, folder / "library", target=core.name)
    monkeypatch.setattr("kibi.engines.ways.build_image", build)
    return DeviceEngine(library, compiler=compiler, level="2").run(inputs)
