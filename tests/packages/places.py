"""Packages of a small model in folders, for the tests that build them."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import kibi
from kibi.codegen import Library, generate, write
from kibi.ir import Graph
from kibi.packages import packaged
from kibi.planner import PlannedModel
from tests.engines.networks import pooled_network

NAME = "Pooled_1"
"""Upper and lower case, an underscore and a digit: all that a model's name may have."""


def small_model() -> Graph:
    """Two convolutions and a mean."""
    return replace(pooled_network("MEAN"), name=NAME)


@cache
def sources(target: str = "host") -> Library:
    """The C of the small model, which is planned once."""
    model = small_model()
    return generate([PlannedModel.of(model, kibi.plan(model, target))], kibi.target(target))


def package(folder: Path, kind: str, target: str = "host") -> Library:
    """The package of the small model, in that folder."""
    return write(packaged(sources(target), kind), folder)


def run(command: Sequence[str | Path], cwd: Path | None = None, environment: Mapping[str, str] | None = None) -> str:
    """What a command prints; fails with all of it if the command does."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout
