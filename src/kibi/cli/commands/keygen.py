"""`kibi keygen`: a pair of keys for update packages."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from kibi.cli.options.checks import passphrase_in
from kibi.cli.options.common import AsJson, PassphraseFile
from kibi.cli.options.paths import given_path
from kibi.cli.terminal import facts, output, print_json, say


def keygen(
    *,
    path: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="NAME",
            help="Folder and name, without an ending.",
            parser=given_path,
            show_default=False,
        ),
    ],
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Make a pair of keys: the private one signs update packages, devices verify them with the public one.

    Writes NAME.pem, the private key, which its owner alone may read; NAME.pub.pem, the public key; and NAME.h, the
    public key in C, for the firmware. Files that exist are not replaced.
    """
    import kibi  # noqa: PLC0415
    from kibi.update.keys import KeyFiles  # noqa: PLC0415

    passphrase = passphrase_in(passphrase_file)
    key, files = kibi.generate_key(path, passphrase), KeyFiles.of(path)
    if as_json:
        paths = {"private": str(files.private), "public": str(files.public), "header": str(files.header)}
        print_json({**paths, "encrypted": passphrase is not None, "fingerprint": key.public.fingerprint})
        return
    console = output()
    how = "not encrypted" if passphrase is None else "encrypted"
    facts(
        console,
        [
            ("private key", f"{files.private}, {how}: keep it secret, and keep a copy"),
            ("public key", f"{files.public}, and {files.header} for the firmware"),
            ("fingerprint", f"{key.public.fingerprint}, the SHA-256 of the public key"),
        ],
    )
    say(console)
    name = shlex.quote(str(files.private))
    say(console, f"Sign a plan file: kibi sign model.kibi --key {name} --model NAME --counter 1 -o model.kibip")
