"""`kibi keygen`, `sign`, `update`, and `inspect` of what they write."""

import os
import struct
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

import kibi as library
from kibi.eager.events import fnv1a
from kibi.planfile.records import DIGEST_BYTES, HEADER
from kibi.update.keys import new_key
from tests.cli.conftest import Kibi
from tests.update.small_files import install_codec, small_file


@pytest.fixture
def folder(kibi: Kibi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: the keys `release`, the plan files old.kibi and new.kibi, and signed packages of both."""
    monkeypatch.chdir(tmp_path)
    install_codec(monkeypatch)
    assert kibi("keygen", "-o", "release").code == 0
    for number, name in enumerate(("old", "new"), start=1):
        Path(f"{name}.kibi").write_bytes(small_file(number).data)
        words = ("--key", "release.pem", "--model", "wake-word", "--counter", number, "-o", f"{name}.kibip")
        assert kibi("sign", f"{name}.kibi", *words).code == 0
    return tmp_path


def test_keygen_writes_three_files_and_says_where(kibi: Kibi, tmp_path: Path) -> None:
    """The fingerprint is the SHA-256 of the public key; no text has anything of the private one."""
    done = kibi("keygen", "-o", tmp_path / "release")
    assert (done.code, done.err) == (0, "")
    files = {name: tmp_path / f"release{name}" for name in (".pem", ".pub.pem", ".h")}
    record = kibi("inspect", files[".pub.pem"], "--json").record
    assert sha256(bytes.fromhex(record["public_key"])).hexdigest() == record["fingerprint"]
    assert record["fingerprint"] in done.out
    assert record["fingerprint"] in files[".h"].read_text()
    assert all(str(path) in done.out for path in files.values())
    assert files[".pem"].read_text().splitlines()[1] not in done.out


def test_keygen_as_json_and_with_a_passphrase(kibi: Kibi, tmp_path: Path) -> None:
    """The passphrase is the first line of a file; without it the key signs nothing."""
    (tmp_path / "secret").write_text("correct horse\nmore\n")
    (tmp_path / "a.kibi").write_bytes(small_file().data)
    made = kibi("keygen", "-o", tmp_path / "k", "--passphrase-file", tmp_path / "secret", "--json").record
    assert made["encrypted"]
    words = (
        "sign",
        tmp_path / "a.kibi",
        "--key",
        made["private"],
        "--model",
        "m",
        "--counter",
        "1",
        "-o",
        tmp_path / "a",
    )
    assert "Give its passphrase" in kibi(*words).err
    assert kibi(*words, "--passphrase-file", tmp_path / "secret").code == 0
    assert kibi("inspect", tmp_path / "a", "--key", made["public"]).code == 0
    shown = kibi("inspect", made["private"])
    assert "private, encrypted key" in shown.out
    assert "unknown without the passphrase" in shown.out


def test_sign_and_inspect_say_what_a_device_checks(kibi: Kibi, folder: Path) -> None:
    """Model, version, target, needs and digest; the signature is verified only by a key."""
    file = small_file(2)
    record = kibi("inspect", folder / "new.kibip", "--key", "release.pub.pem", "--json").record
    assert (record["kind"], record["counter"]) == ("package", 2)
    assert (record["model_id"], record["target_id"]) == (fnv1a("wake-word"), fnv1a("cortex-m4"))
    assert (record["target"], record["replaces"], record["verified"]) == ("cortex-m4", None, True)
    assert record["brings"]["sha256"] == file.data[-DIGEST_BYTES:].hex()
    assert (record["arena_bytes"], record["bytes"]) == (file.arena_bytes, (folder / "new.kibip").stat().st_size)
    assert set(record["kernels"]) == set(file.kernels)
    assert kibi("inspect", folder / "new.kibip", "--json").record["verified"] is False
    assert "not verified: give --key" in kibi("inspect", "new.kibip").out
    key = kibi("inspect", "release.pub.pem", "--json").record
    shown = kibi("inspect", "new.kibip", "--key", "release.pub.pem")
    assert f"Ed25519, by the key {key['fingerprint']}" in shown.out
    assert "model      0x" in shown.out


def test_update_counts_on_from_the_package(kibi: Kibi, folder: Path) -> None:
    """The delta is for the old file, makes the new one, and has the next counter."""
    made = kibi("update", "old.kibip", "new.kibi", "--key", "release.pem", "-o", "delta.kibid", "--json").record
    assert (made["kind"], made["counter"], made["file"]) == ("delta", 2, "delta.kibid")
    package = library.read_package(folder / "delta.kibid")
    assert package.apply(small_file(1)).data == small_file(2).data
    assert made["replaces"] == {"bytes": len(small_file(1).data), "sha256": package.base_digest.hex()}
    shown = kibi("inspect", "delta.kibid", "--key", "release.pub.pem")
    assert f"replaces   plan file of {len(small_file(1).data):,} bytes" in shown.out
    text = kibi("update", "old.kibip", "new.kibip", "--key", "release.pem", "-o", "delta.kibid")
    assert (text.code, text.err) == (0, "")
    assert f"What differs takes {len(package.payload):,} bytes, the file {package.file_bytes:,} bytes." in text.out


def test_update_that_saves_nothing_says_so(kibi: Kibi, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the package has the whole file."""
    monkeypatch.setattr(sys.modules["kibi.update.delta"], "encode", lambda *given, **_: given[1])
    words = ("--key", "release.pem", "--model", "m", "--counter", "5", "--target", "cortex-m7", "-o", "a.kibid")
    done = kibi("update", "old.kibi", "new.kibi", *words)
    assert "so the package has the whole file" in done.out
    assert library.read_package(folder / "a.kibid").counter == 5


def test_update_in_place_says_so(kibi: Kibi, folder: Path) -> None:
    """In JSON, in the text, and when it is inspected; other packages do not."""
    words = ("update", "old.kibip", "new.kibi", "--key", "release.pem", "-o", "delta.kibid")
    made = kibi(*words, "--in-place", "1024", "--json").record
    assert (made["kind"], made["in_place"], made["block_bytes"]) == ("delta", True, 1024)
    assert library.read_package(folder / "delta.kibid").apply(small_file(1)).data == small_file(2).data
    assert "delta.kibid: delta, may be applied in place, " in kibi("inspect", "delta.kibid").out
    assert kibi(*words, "--json").record["in_place"] is False
    assert "in place" not in kibi("inspect", "delta.kibid").out
    assert kibi("inspect", "old.kibip", "--json").record["in_place"] is False


@pytest.mark.parametrize(
    ("given", "code", "text"),
    [
        ("1000", 4, "sectors of 1000 bytes: give the bytes"),
        ("0", 4, "a power of two from 256 on"),
        ("-256", 4, "sectors of -256 bytes"),
        ("4k", 2, "Invalid value for '--in-place'"),
        ("", 2, "Invalid value for '--in-place'"),
    ],
)
def test_sectors_that_cannot_be_end_in_an_error(kibi: Kibi, folder: Path, given: str, code: int, text: str) -> None:
    """And nothing is written."""
    done = kibi("update", "old.kibip", "new.kibi", "--key", "release.pem", "-o", "a.kibid", "--in-place", given)
    assert (done.code, done.out) == (code, "")
    assert text in " ".join(done.err.split())
    assert not (folder / "a.kibid").exists()


def test_inspect_shows_plan_files(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """Ends, memory and kernels, as text and as JSON."""
    kibi("compile", glyphs, "--format", "plan", "-o", tmp_path / "g.kibi")
    record = kibi("inspect", tmp_path / "g.kibi", "--json").record
    file = library.open_plan(tmp_path / "g.kibi", engine="numpy").file
    assert (record["kind"], record["model"], record["bytes"]) == ("plan file", "glyphs", len(file.data))
    assert [each["shape"] for each in record["inputs"]] == [[1, 28, 28, 1]]
    assert tuple(record["kernels"]) == file.kernels
    shown = kibi("inspect", tmp_path / "g.kibi")
    assert (shown.code, shown.err) == (0, "")
    assert "input 0    image  1x28x28x1 s8" in shown.out
    assert file.data[-DIGEST_BYTES:].hex() in shown.out


@pytest.mark.share(3, part=2)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("name", ["new.kibip", "new.kibi", "release.pub.pem"])
def test_inspect_reads_pipes(folder: Path, name: str) -> None:
    """What comes through a pipe is read once, whatever it is."""
    command = [sys.executable, "-m", "kibi", "inspect", "/dev/stdin", "--json"]
    done = subprocess.run(command, input=(folder / name).read_bytes(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b'"kind": "' in done.stdout


def test_names_in_plan_files_steer_no_terminal(kibi: Kibi, tmp_path: Path) -> None:
    """A name from a file reaches the terminal without control characters."""
    file = small_file()
    data = bytearray(file.data)
    place = HEADER.read(file.data, 0)["name"]
    assert place
    data[place : place + 4] = b"\x1b[2J"
    data[-DIGEST_BYTES:] = sha256(data[:-DIGEST_BYTES]).digest()
    (tmp_path / "evil.kibi").write_bytes(data)
    done = kibi("inspect", tmp_path / "evil.kibi")
    assert done.code == 0
    assert "\x1b" not in done.out + done.err
    assert "?[2J" in done.out


def test_package_of_unknown_kernels_is_shown(kibi: Kibi, tmp_path: Path) -> None:
    """Ids that this version does not know are listed as such."""
    file = small_file()
    data = bytearray(file.data)
    first = HEADER.read(file.data, 0)["kernels"]
    struct.pack_into("<I", data, first, 1)
    data[-DIGEST_BYTES:] = sha256(data[:-DIGEST_BYTES]).digest()
    library.sign(bytes(data), new_key(), model="m", counter=1, path=tmp_path / "a.kibip")
    assert kibi("inspect", tmp_path / "a.kibip", "--json").record["unknown_ids"] == [1]
    assert "0x00000001, which this version does not know" in kibi("inspect", tmp_path / "a.kibip").out


def test_external_buffers_and_rows_of_plan_files_are_shown(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """Whoever opens the file must know whose memory its inputs are in."""
    model = library.load(glyphs)
    for name in ("external", "streamed"):
        library.compile_plan(model, library.plan(model, input=name), tmp_path / name)
    assert "buffer     784 bytes, which you own" in kibi("inspect", tmp_path / "external").out
    assert kibi("inspect", tmp_path / "external", "--json").record["external_bytes"] == [784]
    assert "inputs     arrive row by row" in kibi("inspect", tmp_path / "streamed").out


def test_packages_are_shown_without_the_library_of_the_extra(
    kibi: Kibi, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what has to do with keys needs it, and says its name."""
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    assert kibi("inspect", folder / "new.kibip").code == 0
    assert kibi("inspect", folder / "new.kibi").code == 0
    for words in (("inspect", "new.kibip", "--key", "release.pub.pem"), ("keygen", "-o", "more")):
        done = kibi(*words)
        assert done.code == 7
        assert "pip install 'kibi[update]'" in done.err
    assert not (folder / "more.pem").exists()


@pytest.mark.share(3, part=0)
@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ("keygen -o release", 9, "release.pub.pem: exists already, and is not replaced"),
        ("keygen -o absent/x", 9, "No such file or directory"),
        ("keygen -o x --passphrase-file absent", 4, "absent: No such file or directory"),
        ("keygen -o x --passphrase-file empty", 4, "the passphrase has 0 bytes"),
        ("keygen", 2, "Missing option"),
        ("sign old.kibi --key absent.pem --model m --counter 1 -o x", 4, "absent.pem: No such file"),
        ("sign old.kibi --key release.pub.pem --model m --counter 1 -o x", 4, "it is a public key"),
        ("sign old.kibi --key old.kibi --model m --counter 1 -o x", 4, "it holds no key"),
        ("sign old.kibi --key release.pem --model m --counter 4294967296 -o x", 4, "the counter is 4294967296"),
        ("sign old.kibi --key release.pem --model m --counter 0 -o x", 4, "the counter is 0"),
        ("sign old.kibi --key release.pem --model m --counter 1 --target z80 -o x", 6, "unknown target 'z80'"),
        ("sign old.kibi --key release.pem --counter 1 -o x", 2, "Missing option"),
        ("sign old.kibip --key release.pem --model m --counter 1 -o x", 5, "old.kibip: these"),
        ("sign absent.kibi --key release.pem --model m --counter 1 -o x", 5, "absent.kibi: No such file"),
        ("sign old.kibi --key release.pem --model m --counter 1 -o absent/x", 9, "No such file or directory"),
        ("update old.kibi new.kibi --key release.pem -o x", 4, "plan files do not say their model"),
        ("update new.kibip old.kibip --key release.pem -o x", 4, "the counter 1 is not above 2"),
        ("update old.kibip new.kibi --key other.pem -o x", 15, "the old package: the signature was not made with"),
        ("update cut.kibip new.kibi --key release.pem -o x", 15, "cut.kibip: the package has"),
        ("inspect new.kibip --key other.pub.pem", 15, "new.kibip: the signature was not made with the key"),
        ("inspect new.kibip --key release.pem", 4, "it is a private key"),
        ("inspect cut.kibip", 15, "it was cut"),
        ("inspect long.kibip", 15, "there are bytes after its end"),
        ("inspect cut.kibi", 5, "cut.kibi: the plan file has"),
        ("inspect new.kibip --passes", 4, "new.kibip is an update package, no model"),
        ("inspect new.kibi --text", 4, "new.kibi is a plan file, no model"),
        ("inspect release.pem --signature main", 4, "release.pem is a key, no model"),
        ("inspect new.kibi --key release.pub.pem", 15, "no package, which begins with KIBU"),
        ("inspect absent --key release.pub.pem", 15, "absent: No such file"),
        ("inspect absent", 3, "there is no such file"),
        ("inspect empty", 3, "the file is empty"),
        ("inspect rsa.pem", 4, "it is damaged"),
    ],
)
def test_mistake_is_explained(kibi: Kibi, folder: Path, words: str, code: int, text: str) -> None:
    """Each mistake ends in its exit code and a text that says what to do; nothing is written."""
    kibi("keygen", "-o", "other")
    Path("empty").write_bytes(b"")
    Path("cut.kibip").write_bytes(Path("old.kibip").read_bytes()[:-1])
    Path("long.kibip").write_bytes(Path("old.kibip").read_bytes() + b"\0")
    Path("cut.kibi").write_bytes(Path("old.kibi").read_bytes()[:-4])
    Path("rsa.pem").write_text("-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = kibi(*words.split())
    assert done.code == code, done.err
    assert text in " ".join(done.err.split())
    assert done.out == ""
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
