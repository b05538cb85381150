"""`kibi sign` and `kibi update`: signed packages that bring plan files to devices."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kibi.cli.options.checks import passphrase_in
from kibi.cli.options.common import AsJson, KeyPath, PassphraseFile
from kibi.cli.options.paths import given_path
from kibi.cli.output.inspect_update import show_package
from kibi.cli.terminal import byte_text, output, print_json, say, working

if TYPE_CHECKING:
    from kibi.update.package import Package

_PackagePath = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="FILE", help="The package to write.", parser=given_path, show_default=False),
]
_LAYOUT = "that of the layout beside the plan file, else cortex-m4"


def sign(
    plan_file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A plan file.", parser=given_path, show_default=False)
    ],
    *,
    key: KeyPath,
    model: Annotated[
        str, typer.Option("--model", metavar="NAME", help="Which model it is: your name for it.", show_default=False)
    ],
    counter: Annotated[
        int,
        typer.Option(
            "--counter", metavar="N", help="Of the version: above those of all earlier ones.", show_default=False
        ),
    ],
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", metavar="T", help=f"The processor. Without: {_LAYOUT}.", show_default=False),
    ] = None,
    path: _PackagePath,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Sign a plan file: write an update package that has all of it.

    A device takes packages for its own model and target that your key signed, and whose counter is above the one it has.
    """
    import kibi  # noqa: PLC0415

    secret = passphrase_in(passphrase_file)
    package = kibi.sign(plan_file, key, model=model, counter=counter, target=target, passphrase=secret, path=path)
    _report(package, path, as_json=as_json)


def update(
    old: Annotated[
        Path,
        typer.Argument(
            metavar="OLD",
            help="The plan file that devices have, or its package.",
            parser=given_path,
            show_default=False,
        ),
    ],
    new: Annotated[
        Path,
        typer.Argument(
            metavar="NEW", help="The plan file that they get, or its package.", parser=given_path, show_default=False
        ),
    ],
    *,
    key: KeyPath,
    model: Annotated[
        str | None,
        typer.Option(
            "--model", metavar="NAME", help="Which model it is. Without: that of the packages.", show_default=False
        ),
    ] = None,
    counter: Annotated[
        int | None,
        typer.Option(
            "--counter",
            metavar="N",
            help="Of the version. Without: that of the package NEW, else 1 more than that of the package OLD.",
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "-t",
            metavar="T",
            help=f"The processor. Without: that of the packages, else {_LAYOUT}.",
            show_default=False,
        ),
    ] = None,
    in_place: Annotated[
        int | None,
        typer.Option(
            "--in-place",
            metavar="SECTOR_BYTES",
            help="Devices have no second slot, and flash that erases so many bytes at once.",
            show_default=False,
        ),
    ] = None,
    path: _PackagePath,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Write a signed package that takes devices from one plan file to another.

    It has what differs, or the whole new file where that is smaller. Packages that are given as OLD and NEW must be
    whole, and signed by this key. With --in-place the package always has what differs, and devices may apply it in the
    place of the old file.
    """
    import kibi  # noqa: PLC0415

    secret = passphrase_in(passphrase_file)
    with working("comparing"):
        package = kibi.sign_update(
            old,
            new,
            key,
            model=model,
            counter=counter,
            target=target,
            in_place=in_place,
            passphrase=secret,
            path=path,
        )
    _report(package, path, as_json=as_json)
    if as_json:
        return
    console = output()
    say(console)
    if package.base_bytes:
        say(console, f"What differs takes {byte_text(len(package.payload))}, the file {byte_text(package.file_bytes)}.")
    else:
        say(console, "What differs takes no fewer bytes than the new file, so the package has the whole file.")


def _report(package: "Package", path: Path, *, as_json: bool) -> None:
    """Prints what was written."""
    from kibi.update.inspection import package_record  # noqa: PLC0415

    record = {"file": str(path), **package_record(package)}
    if as_json:
        print_json(record)
    else:
        show_package(output(), record, is_ours=True)
