"""Keys are those of RFC 8032, are written once, and whatever is wrong with a file is said."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

import kibi
from kibi.errors import InputError, OutputError, SignatureError, ToolchainError
from kibi.update.keys import KeyFiles, load_private_key, load_public_key, new_key, public_key_of, write_key
from tests.toolchain.tools import check_gcc

_SECRET = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
_PUBLIC = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
_SIGNATURE_OF_NOTHING = bytes.fromhex(
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
) + bytes.fromhex("5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b")
"""Test 1 of RFC 8032, section 7.1: the signature of an empty message."""
_KEY = new_key()


def _private_pem(key: "ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey | rsa.RSAPrivateKey") -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _public_pem(key: "ed448.Ed448PublicKey | rsa.RSAPublicKey") -> bytes:
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def test_key_of_the_standard_gives_its_signature(tmp_path: Path) -> None:
    """The first test vector of RFC 8032, through a file."""
    path = tmp_path / "key.pem"
    path.write_bytes(_private_pem(ed25519.Ed25519PrivateKey.from_private_bytes(_SECRET)))
    key = load_private_key(path)
    assert key.public.data.hex() == _PUBLIC
    assert key.sign(b"") == _SIGNATURE_OF_NOTHING
    key.public.verify(_SIGNATURE_OF_NOTHING, b"")


@pytest.mark.parametrize("passphrase", [None, "correct horse", "Grüße 🐎"])
def test_files_of_a_pair_give_the_same_keys(tmp_path: Path, passphrase: str | None) -> None:
    """What was made is what is read, from the private and from the public file."""
    key = kibi.generate_key(tmp_path / "release", passphrase)
    files = KeyFiles.of(tmp_path / "release")
    assert [path.name for path in files.all] == ["release.pem", "release.pub.pem", "release.h"]
    assert load_private_key(files.private, passphrase).sign(b"message") == key.sign(b"message")
    assert load_public_key(files.public) == key.public
    assert public_key_of(files.public) == (key.public, "public")
    kind = (key.public, "private") if passphrase is None else (None, "private, encrypted")
    assert public_key_of(files.private) == kind
    assert (b"ENCRYPTED" in files.private.read_bytes()) == (passphrase is not None)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_private_key_is_for_its_owner_alone(tmp_path: Path) -> None:
    """Whatever the umask; the others are as it says."""
    before = os.umask(0o022)
    try:
        kibi.generate_key(tmp_path / "release")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"release.pem": 0o600, "release.pub.pem": 0o644, "release.h": 0o644}


@pytest.mark.parametrize("ending", [".pem", ".pub.pem", ".h"])
@pytest.mark.parametrize("is_link", [False, True])
def test_no_file_of_a_pair_is_replaced(tmp_path: Path, ending: str, *, is_link: bool) -> None:
    """If one of the three exists, even as a link to nothing, none is written, and it stays as it was."""
    taken = tmp_path / f"release{ending}"
    if is_link:
        taken.symlink_to(tmp_path / "nothing")
    else:
        taken.write_bytes(b"mine")
    with pytest.raises(OutputError, match="exists already") as caught:
        kibi.generate_key(tmp_path / "release")
    assert taken.name in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == [taken.name]
    assert is_link or taken.read_bytes() == b"mine"


def test_pair_is_written_where_files_have_no_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some file systems cannot give a file a second name; there it is written in its place, with the same care."""

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    key = kibi.generate_key(tmp_path / "release")
    assert load_private_key(tmp_path / "release.pem").public == key.public
    with pytest.raises(OutputError, match="exists already"):
        kibi.generate_key(tmp_path / "release")
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize(
    ("path", "passphrase", "error", "text"),
    [
        ("absent/release", None, OutputError, "No such file or directory"),
        ("", None, InputError, "path is empty"),
        ("/", None, InputError, "names no file"),
        ("release", "", InputError, "the passphrase has 0 bytes"),
        ("release", "x" * 1001, InputError, "the passphrase has 1001 bytes"),
    ],
)
def test_pair_that_cannot_be_written_leaves_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    passphrase: str | None,
    error: type[Exception],
    text: str,
) -> None:
    """Each mistake is explained, and no file is left."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=text):
        kibi.generate_key(path, passphrase)
    assert not list(tmp_path.iterdir())


def test_key_without_a_path_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For programs that keep keys elsewhere; no two keys are the same."""
    monkeypatch.chdir(tmp_path)
    keys = [kibi.generate_key() for _ in range(3)]
    assert len({key.public.data for key in keys}) == 3
    assert not list(tmp_path.iterdir())


def test_text_of_a_private_key_does_not_show_it() -> None:
    """What is printed in logs has no secret in it."""
    secret = _KEY._key.private_bytes_raw()
    for text in (repr(_KEY), str(_KEY)):
        assert "PublicKey(" in text
        assert secret.hex() not in text
        assert repr(secret) not in text


def test_header_defines_the_key_for_the_firmware(tmp_path: Path) -> None:
    """C and C++ of another file find the 32 bytes, without a warning."""
    check_gcc()
    (tmp_path / "key.h").write_text(_KEY.public.header().text)
    (tmp_path / "key.c").write_text('#include "key.h"\n#include "key.h"\n')
    (tmp_path / "main.c").write_text(
        "#include <stdint.h>\n#include <stdio.h>\nextern const uint8_t kibi_public_key[32];\n"
        'int main(void) { for (int k = 0; k < 32; k++) { printf("%02x", kibi_public_key[k]); } return 0; }\n'
    )
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wundef", "-Werror", "-I", str(tmp_path)]
    files = [str(tmp_path / name) for name in ("main.c", "key.c")]
    subprocess.run(["gcc", "-std=c99", *warnings, *files, "-o", str(tmp_path / "show")], check=True)
    done = subprocess.run([tmp_path / "show"], capture_output=True, text=True, check=True)
    assert done.stdout == _KEY.public.data.hex()
    subprocess.run(["g++", *warnings, "-fsyntax-only", "-x", "c++", str(tmp_path / "key.c")], check=True)


@given(st.binary(max_size=200), st.integers(0, 511))
def test_signature_with_a_changed_bit_is_none(message: bytes, bit: int) -> None:
    """Neither does it verify for another message, nor with another key."""
    signature = bytearray(_KEY.sign(message))
    _KEY.public.verify(bytes(signature), message)
    with pytest.raises(SignatureError):
        _KEY.public.verify(bytes(signature), message + b"\0")
    with pytest.raises(SignatureError):
        new_key().public.verify(bytes(signature), message)
    signature[bit // 8] ^= 1 << bit % 8
    with pytest.raises(SignatureError):
        _KEY.public.verify(bytes(signature), message)


@pytest.mark.parametrize("length", [0, 63, 65])
def test_signature_of_another_length_is_none(length: int) -> None:
    """Whatever its bytes."""
    with pytest.raises(SignatureError):
        _KEY.public.verify(bytes(length), b"message")


_RSA = rsa.generate_private_key(65537, 2048)
_ED448 = ed448.Ed448PrivateKey.generate()
_DAMAGED = _KEY.pem().replace(b"MC4CAQ", b"MC4CBQ")
_EC = ec.generate_private_key(ec.SECP256R1()).private_bytes(
    Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()
)


@pytest.mark.parametrize(
    ("data", "passphrase", "text"),
    [
        (_KEY.public.pem(), None, "it is a public key, which signs nothing"),
        (_KEY.pem("secret"), None, "the key is encrypted. Give its passphrase"),
        (_KEY.pem("secret"), "other", "the passphrase is wrong"),
        (_KEY.pem("secret"), "", "the passphrase has 0 bytes"),
        (_KEY.pem(), "secret", "not encrypted, and a passphrase was given"),
        (_private_pem(_RSA), None, "the key is of another kind; packages take Ed25519"),
        (_private_pem(_ED448), None, "the key is of another kind; packages take Ed25519"),
        (_EC, None, "it holds a EC PRIVATE KEY, no key in the form PKCS8"),
        (_DAMAGED, None, "it is damaged"),
        (_KEY.pem()[:60], None, "it is damaged"),
        (b"-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n", None, "it is damaged"),
        (b"A text.\n", None, "it holds no key"),
        (b"", None, "it holds no key"),
        (bytes(1 << 15), None, "at most 16,384 are read"),
    ],
    ids=[
        *(
            "public",
            "encrypted",
            "wrong passphrase",
            "empty passphrase",
            "passphrase for nothing",
            "rsa",
            "ed448",
            "ec",
        ),
        *("damaged", "cut", "without contents", "text", "empty", "too long"),
    ],
)
def test_file_without_a_private_key_is_refused(tmp_path: Path, data: bytes, passphrase: str | None, text: str) -> None:
    """The error says what the file holds, and what to do."""
    path = tmp_path / "key.pem"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        load_private_key(path, passphrase)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (_KEY.pem(), "it is a private key, which verifying does not need"),
        (_KEY.pem("secret"), "it is a private key, which verifying does not need"),
        (_public_pem(_RSA.public_key()), "the key is of another kind; packages take Ed25519"),
        (_public_pem(_ED448.public_key()), "the key is of another kind; packages take Ed25519"),
        (_KEY.public.pem().replace(b"MCowBQ", b"MCowBg"), "it is damaged"),
        (b"-----BEGIN CERTIFICATE-----\n", "it holds a CERTIFICATE"),
        (b"A text.\n", "it holds no key"),
    ],
    ids=["private", "encrypted", "rsa", "ed448", "damaged", "certificate", "text"],
)
def test_file_without_a_public_key_is_refused(tmp_path: Path, data: bytes, text: str) -> None:
    """The error says what the file holds, and what to do."""
    path = tmp_path / "key.pub.pem"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        load_public_key(path)
    assert text in str(caught.value)


@given(st.binary(max_size=300), st.sampled_from([b"PUBLIC KEY", b"PRIVATE KEY", b"ENCRYPTED PRIVATE KEY", b"X"]))
def test_any_bytes_as_a_key_end_in_an_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, label: bytes
) -> None:
    """Nothing but an `InputError` leaves the readers."""
    path = tmp_path_factory.mktemp("keys") / "key.pem"
    path.write_bytes(b"-----BEGIN " + label + b"-----\n" + data + b"\n-----END " + label + b"-----\n")
    for load in (load_private_key, load_public_key, lambda path: load_private_key(path, "secret")):
        with pytest.raises(InputError):
            load(path)


def test_missing_file_and_folder_are_said(tmp_path: Path) -> None:
    """As for any other file."""
    for load in (load_private_key, load_public_key):
        with pytest.raises(InputError, match="No such file"):
            load(tmp_path / "absent.pem")
        with pytest.raises(InputError, match="Is a directory"):
            load(tmp_path)


def test_missing_library_is_named_with_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever installed Kibi without the extra reads which one it is."""
    files = write_key(tmp_path / "release", _KEY)
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    for use in (
        kibi.generate_key,
        lambda: load_private_key(files.private),
        lambda: load_public_key(files.public),
        lambda: _KEY.public.verify(bytes(64), b""),
    ):
        with pytest.raises(ToolchainError, match=r"pip install 'kibi\[update\]'"):
            use()
