"""Values of options that are checked, and the errors for those that do not exist."""

from pathlib import Path
from typing import TYPE_CHECKING

from kibi.cli.options.common import FORMATS
from kibi.errors import InputError, OracleError, TargetError, ToolchainError

if TYPE_CHECKING:
    from kibi.targets import Target

_MOST_PASSPHRASE_FILE = 4096


def passphrase_in(path: Path | None) -> str | None:
    """The passphrase in a file, which is no part of the command line, where every user of the machine can read it.

    Args:
        path: a text file; its first line is the passphrase. None: there is no passphrase.

    Raises:
        InputError: there is no such file, or it is no text.
    """
    from kibi.files import read_text  # noqa: PLC0415 - verbs pay for what they use

    if path is None:
        return None
    text = read_text(path, _MOST_PASSPHRASE_FILE, InputError, "Give a text file whose first line is the passphrase.")
    return text.partition("\n")[0]


def format_named(name: str, core: Path | None = None) -> str:
    """The format's name; raises an error for an unknown one, or if a core was named for C.

    Raises:
        InputError: there is no such format, or a core does not go with it.
    """
    if name not in FORMATS:
        raise InputError(f"unknown format {name!r}. Formats are: {', '.join(FORMATS)}.")
    if core is not None and name != "plan":
        raise InputError("--core is for plan files. Add --format plan, or leave it out.")
    return name


def not_compared(failure: str) -> OracleError:
    """The error that ends a verb after its results, where TFLM's build failed."""
    return OracleError(f"{failure}\nKibi's own result is not compared with it. Leave it out by --no-oracle.")


def emulated_target(name: str) -> "Target":
    """The target of that name; raises an error if it is not emulated.

    Raises:
        TargetError: there is no such target, or nothing emulates it.
    """
    from kibi.targets import target, targets  # noqa: PLC0415

    found = target(name)
    if not found.is_emulated:
        known = ", ".join(each.name for each in targets() if each.is_emulated)
        raise TargetError(f"target {name!r} is not emulated, so nothing can be measured on it. Emulated are: {known}.")
    return found


def run_target(name: str, wants: tuple[str, ...] = ()) -> "Target":
    """The target of that name, which runs somewhere: on an emulated core, as a program for Linux or in WebAssembly.

    Args:
        name: the target's.
        wants: options that were given and need an emulated core.

    Raises:
        TargetError: there is no such target, nothing runs it, or one of these options needs an emulated core.
    """
    from kibi.targets import target  # noqa: PLC0415

    found = target(name)
    if not found.is_program:
        return emulated_target(name)
    if wants:
        known = f"{wants[0]} needs an emulated core, which {name} is not"
        raise TargetError(f"{known}. Leave it out, or take a target that `kibi targets` says unicorn runs.")
    return found


def compiler_named(name: str) -> str:
    """The compiler's name; raises an error if it does not exist.

    Raises:
        ToolchainError: no compiler was found.
    """
    from kibi.toolchain.compilers import COMPILERS  # noqa: PLC0415

    if name not in COMPILERS:
        raise ToolchainError(f"unknown compiler {name!r}. Compilers are: {', '.join(COMPILERS)}.")
    return name
