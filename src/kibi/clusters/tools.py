"""The tools whose versions decide what a measurement gives."""

from dataclasses import asdict, dataclass
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import kibi.version
from kibi.targets import target as target_named
from kibi.toolchain.compilers import find_compiler

_NO_SOURCE = (".pyc", ".pyo")


@dataclass(frozen=True, slots=True)
class Tools:
    """Versions of the tools on one machine.

    Attributes:
        kibi: its version.
        kibi_sha256: the digest of all of its files, so that two states of one version differ.
        compiler: name and version of the compiler.
        unicorn, numpy: versions of the emulator and of the arrays.
    """

    kibi: str
    kibi_sha256: str
    compiler: str
    unicorn: str
    numpy: str

    def record(self) -> dict[str, str]:
        """Returns them as plain data."""
        return asdict(self)


def tools_here(compiler: str, target: str) -> Tools:
    """Returns the tools of this machine.

    Args:
        compiler: `zig`, `gcc` or `clang`.
        target: a target that the compiler is to make code for.

    Raises:
        ToolchainError: the compiler is missing.
    """
    found = find_compiler(compiler, target_named(target))
    return Tools(
        kibi=kibi.version.__version__,
        kibi_sha256=_own_digest(),
        compiler=found.version,
        unicorn=_version("unicorn"),
        numpy=_version("numpy"),
    )


def tools_that_differ(own: Tools, wanted: Tools) -> str:
    """Returns what a worker says that has other tools than those which are wanted."""
    others = [
        f"{name} {value[:24]}, not {wanted.record()[name][:24]}"
        for name, value in own.record().items()
        if value != wanted.record()[name]
    ]
    return f"a worker has other tools: {'; '.join(others)}. Install the same ones on all workers."


@lru_cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


@lru_cache
def _own_digest() -> str:
    """The SHA-256 of Kibi's files, each with its path."""
    total, root = sha256(), Path(kibi.version.__file__).parent
    for path in sorted(root.rglob("*")):
        if path.is_file() and path.suffix not in _NO_SOURCE:
            data = path.read_bytes()
            total.update(f"{path.relative_to(root).as_posix()} {len(data)} ".encode())
            total.update(data)
    return total.hexdigest()
