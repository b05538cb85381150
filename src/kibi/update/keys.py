"""Ed25519 keys (RFC 8032): made, written, read, and what they sign.

The arithmetic is that of the library `cryptography`, which the extra `kibi[update]` installs. It is imported when it is used.
"""

import re
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from kibi.errors import InputError, OutputError, SignatureError, ToolchainError
from kibi.files import read_file, write_new_file
from kibi.planfile.package_records import SIGNATURE_BYTES
from kibi.text.c import CCode, code, comment, filled, hexadecimal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KEY_BYTES = 32
"""Of a public key."""
PEM_START = b"-----BEGIN "
"""The first bytes of a file with a key."""
_MOST_FILE_BYTES = 16 << 10
_MOST_PASSPHRASE_BYTES = 1000
_PUBLIC, _PRIVATE, _LOCKED = "PUBLIC KEY", "PRIVATE KEY", "ENCRYPTED PRIVATE KEY"
_LABEL = re.compile(rb"-----BEGIN ([A-Z0-9 ]{1,64})-----")
_SECRET_MODE = 0o600


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key: whoever has it can verify signatures, and make none.

    Attributes:
        data: its 32 bytes, as RFC 8032 defines them.
    """

    data: bytes

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of its 32 bytes in hexadecimal digits: people compare it."""
        return sha256(self.data).hexdigest()

    def verify(self, signature: bytes, message: bytes) -> None:
        """Returns if a signature of a message was made with this key's private key.

        Raises:
            SignatureError: it was not, or the message is another one.
            ToolchainError: the library is missing.
        """
        _check_library()
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - an extra: imported where it is used
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415 - as above

        try:
            Ed25519PublicKey.from_public_bytes(self.data).verify(signature, message)
        except (InvalidSignature, ValueError):
            raise SignatureError(
                f"the signature was not made with the key {self.fingerprint[:16]}…, or what was signed has changed. "
                "Give the key of whoever signed, or get the file again."
            ) from None

    def pem(self) -> bytes:
        """Returns the key as PEM (SubjectPublicKeyInfo, RFC 8410).

        Raises:
            ToolchainError: the library is missing.
        """
        _check_library()
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415 - as above
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # noqa: PLC0415 - as above

        public = Ed25519PublicKey.from_public_bytes(self.data)
        return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def header(self) -> CCode:
        """Returns the key as a header in C for firmware: it defines the array that the adapters of a core verify with."""
        about = (
            "The public key of update packages: the firmware verifies their signatures with it. It is no secret, but whoever can "
            "change it decides what the device runs: keep it in flash that updates cannot write. Include this file in one file of "
            f"the firmware.\nEd25519 (RFC 8032). SHA-256 of the key: {self.fingerprint}"
        )
        return code(
            """\
${about}#ifndef KIBI_PUBLIC_KEY_H
#define KIBI_PUBLIC_KEY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

extern const uint8_t kibi_public_key[$count];

const uint8_t kibi_public_key[$count] = {
$key
};

#ifdef __cplusplus
}
#endif

#endif
""",
            about=comment(about),
            count=KEY_BYTES,
            key=filled(hexadecimal(each, 2) for each in self.data),
        )


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """A private key: whoever has it can sign. Neither its text nor its `repr` shows it; `new_key` and `load_private_key` make it.

    Attributes:
        public: the key that verifies what this one signs.
    """

    public: PublicKey
    _key: "Ed25519PrivateKey" = field(repr=False, compare=False)

    def sign(self, message: bytes) -> bytes:
        """Returns the signature of a message: 64 bytes, always the same ones for the same message."""
        signature = self._key.sign(message)
        assert len(signature) == SIGNATURE_BYTES  # noqa: S101 - what RFC 8032 says
        return signature

    def pem(self, passphrase: str | None = None) -> bytes:
        """Returns the key as PEM (PKCS8, RFC 8410).

        Args:
            passphrase: what encrypts it; None: it is not encrypted.

        Raises:
            InputError: the passphrase is empty or too long.
        """
        from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415 - as above
            BestAvailableEncryption,
            Encoding,
            NoEncryption,
            PrivateFormat,
        )

        lock = NoEncryption() if passphrase is None else BestAvailableEncryption(_passphrase_bytes(passphrase))
        return self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock)


@dataclass(frozen=True, slots=True)
class KeyFiles:
    """The paths of a pair of keys.

    Attributes:
        private: PEM, readable for its owner alone.
        public: PEM.
        header: the public key in C.
    """

    private: Path
    public: Path
    header: Path

    @staticmethod
    def of(path: Path) -> "KeyFiles":
        """Returns the paths for a path without an ending; `.pem` at its end is left out.

        Raises:
            InputError: the path names no file.
        """
        if not path.name:
            raise InputError(f"{path} names no file. Give a folder and a name, such as keys/release.")
        name = path.name.removesuffix(".pem") or path.name
        return KeyFiles(*(path.with_name(name + ending) for ending in (".pem", ".pub.pem", ".h")))

    @property
    def all(self) -> tuple[Path, Path, Path]:
        """The three of them."""
        return self.private, self.public, self.header


def new_key() -> PrivateKey:
    """Returns a new private key, from the random numbers of the operating system.

    Raises:
        ToolchainError: the library is missing.
    """
    _check_library()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - as above

    return _with_public(Ed25519PrivateKey.generate())


def write_key(path: Path, key: PrivateKey, passphrase: str | None = None) -> KeyFiles:
    """Writes a pair of keys: all three files or none. The private one has mode 0600.

    Args:
        path: folder and name, without an ending.
        key: the private key.
        passphrase: what encrypts the private key; None: it is not encrypted.

    Raises:
        OutputError: one of the files exists, or cannot be written.
        InputError: the path names no file, or the passphrase is empty or too long.
    """
    files = KeyFiles.of(path)
    texts: Mapping[Path, bytes] = {
        files.public: key.public.pem(),
        files.header: key.public.header().text.encode(),
        files.private: key.pem(passphrase),
    }
    written: list[Path] = []
    try:
        for place, data in texts.items():
            write_new_file(place, data, _SECRET_MODE if place == files.private else None)
            written.append(place)
    except OutputError:
        for place in written:
            place.unlink(missing_ok=True)
        raise
    return files


def load_private_key(path: Path, passphrase: str | None = None) -> PrivateKey:
    """Reads a private key: PEM, PKCS8.

    Args:
        path: the file.
        passphrase: what decrypts it; None: it is not encrypted.

    Raises:
        InputError: there is no such file; it holds a public key, a key of another kind, or no key; or the passphrase is missing,
            wrong, or not needed.
        ToolchainError: the library is missing.
    """
    data = _key_data(path)
    label = _label(data)
    if label == _PUBLIC:
        raise InputError(f"{path}: it is a public key, which signs nothing. Give the private key of its pair.")
    if label not in (_PRIVATE, _LOCKED):
        raise _no_key(path, label)
    if label == _LOCKED and passphrase is None:
        raise InputError(f"{path}: the key is encrypted. Give its passphrase.")
    if label == _PRIVATE and passphrase is not None:
        raise InputError(f"{path}: the key is not encrypted, and a passphrase was given. Leave it out.")
    _check_library()
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - as above
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - as above
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415 - as above

    secret = None if passphrase is None else _passphrase_bytes(passphrase)
    try:
        key = load_pem_private_key(data, secret)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        why = "it is damaged" if secret is None else "the passphrase is wrong, or it is damaged"
        raise InputError(
            f"{path}: the key cannot be read: {why}. Check both, or make another one with `kibi keygen`."
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise _other_kind(path)
    return _with_public(key)


def load_public_key(path: Path) -> PublicKey:
    """Reads a public key: PEM.

    Raises:
        InputError: there is no such file; it holds a private key, a key of another kind, or no key.
        ToolchainError: the library is missing.
    """
    data = _key_data(path)
    label = _label(data)
    if label in (_PRIVATE, _LOCKED):
        raise InputError(
            f"{path}: it is a private key, which verifying does not need. Give the public one of its pair."
        )
    if label != _PUBLIC:
        raise _no_key(path, label)
    _check_library()
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - as above
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415 - as above
    from cryptography.hazmat.primitives.serialization import load_pem_public_key  # noqa: PLC0415 - as above

    try:
        key = load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm):
        raise InputError(f"{path}: the key cannot be read: it is damaged. Get it again.") from None
    if not isinstance(key, Ed25519PublicKey):
        raise _other_kind(path)
    return PublicKey(key.public_bytes_raw())


def public_key_of(path: Path) -> tuple[PublicKey | None, str]:
    """Returns what anybody may know of a file with a key, without its passphrase.

    Returns:
        The public key, or None where the file is encrypted; and `public`, `private`, or `private, encrypted`.

    Raises:
        InputError: there is no such file, or it holds no key of this kind.
        ToolchainError: the library is missing.
    """
    label = _label(_key_data(path))
    if label == _LOCKED:
        return None, "private, encrypted"
    if label == _PRIVATE:
        return load_private_key(path).public, "private"
    return load_public_key(path), "public"


def _check_library() -> None:
    try:
        import cryptography.exceptions  # noqa: F401, PLC0415 - an extra: imported where it is used
    except ImportError:
        raise ToolchainError(
            "keys and signatures need the library cryptography, which is not installed. Run: pip install 'kibi[update]'."
        ) from None


def _with_public(key: "Ed25519PrivateKey") -> PrivateKey:
    return PrivateKey(PublicKey(key.public_key().public_bytes_raw()), key)


def _key_data(path: Path) -> bytes:
    return read_file(path, _MOST_FILE_BYTES, InputError, "Give the path of a key that `kibi keygen` made.")


def _label(data: bytes) -> str | None:
    """Returns what a PEM file says that it holds; None where it is no PEM file."""
    found = _LABEL.search(data)
    return None if found is None else found[1].decode()


def _no_key(path: Path, label: str | None) -> InputError:
    if label is None:
        return InputError(f"{path}: it holds no key. Give a PEM file, as `kibi keygen` writes it.")
    return InputError(f"{path}: it holds a {label}, no key in the form PKCS8. Give a key that `kibi keygen` made.")


def _other_kind(path: Path) -> InputError:
    return InputError(f"{path}: the key is of another kind; packages take Ed25519. Make one with `kibi keygen`.")


def _passphrase_bytes(passphrase: str) -> bytes:
    data = passphrase.encode("utf-8", "surrogateescape")
    if not 0 < len(data) <= _MOST_PASSPHRASE_BYTES:
        raise InputError(
            f"the passphrase has {len(data)} bytes; 1 to {_MOST_PASSPHRASE_BYTES} are possible. Give another one, or none."
        )
    return data
