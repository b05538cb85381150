"""Each package that a device must not take ends with its status, and the old model stays."""

import ctypes
import hashlib
import re
import struct
import subprocess
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kibi.emulator import Core
from kibi.engines.core import written_core
from kibi.engines.engine import STATUS
from kibi.errors import PackageError
from kibi.kernels import kernel_folder
from kibi.planfile.core_c import CORE
from kibi.planfile.core_library import ADAPTERS, core_files
from kibi.planfile.core_library import Core as WrittenCore
from kibi.planfile.package_records import Payload
from kibi.planfile.reader import PlanFile
from kibi.targets import target
from kibi.toolchain import build_image, load_shared
from kibi.update.delta import decode, encode
from tests.docs.documents import DOCS
from tests.toolchain.tools import check_cross
from tests.update.packages import HEAD_BYTES, Sizes, file_of, package_of, program_of, sent

_SIZES = Sizes(1024, 8, 3072, 2048)
_OK, _KERNEL, _PACKAGE, _SIGNATURE, _OTHER, _OLDER, _BASE, _SPACE = 0, -17, -18, -19, -20, -21, -22, -23
_OPTIONS = "abort_on_error=0:halt_on_error=1:detect_leaks=0"
_OLD, _NEW = file_of(0), file_of(1)
_IN_PLACE = replace(_SIZES, staging_bytes=1024)
_SECTOR = _SIZES.sector_bytes


def _status(package: bytes, trust: int = 0, sizes: Sizes = _SIZES) -> int:
    """What a device with the old model, version 1, says to a package; the old model, or the new one, is active afterwards."""
    program = program_of("mutants.c", tuple(sorted({*_OLD.kernels, *_NEW.kernels})))
    given = replace(sizes, trust=trust).packed + sent(_OLD.data, _NEW.data, package_of(_OLD, 1), package)
    done = subprocess.run(
        [str(program)], input=given, capture_output=True, check=False, timeout=60, env={"ASAN_OPTIONS": _OPTIONS}
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[:4000]
    return -list(map(int, done.stdout.split())).index(1)


@pytest.mark.parametrize("base", [None, _OLD], ids=["whole", "delta"])
def test_right_package_is_installed(base: PlanFile | None) -> None:
    """The whole file, and what makes it from the older one."""
    assert _status(package_of(_NEW, 2, base)) == _OK


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"magic": 0}, _PACKAGE),
        ({"version": 2}, _PACKAGE),
        ({"required": 1}, _PACKAGE),
        ({"kind": 3}, _PACKAGE),
        ({"block_bytes": 0}, _PACKAGE),
        ({"block_bytes": 300}, _PACKAGE),
        ({"block_bytes": 128}, _PACKAGE),
        ({"block_bytes": 1 << 17}, _PACKAGE),
        ({"file_bytes": len(_NEW.data) - 2}, _PACKAGE),
        ({"file_bytes": 64}, _PACKAGE),
        ({"payload_bytes": len(_NEW.data) - 4}, _PACKAGE),
        ({"kernel_sum": 1}, _PACKAGE),
        ({"digest": bytes(32)}, _PACKAGE),
        ({"signature": 0}, _SIGNATURE),
        ({"model": 1}, _OTHER),
        ({"target": 1}, _OTHER),
        ({"file_version": 1}, _OTHER),
        ({"counter": 1}, _OLDER),
        ({"counter": 0}, _OLDER),
        ({"arena_bytes": (1 << 16) + 1}, _SPACE),
        ({"state_bytes": 1}, _SPACE),
        ({"file_bytes": 3076, "payload_bytes": 3076}, _SPACE),
        ({"payload_bytes": 0xFFFFFFFF}, _PACKAGE),
    ],
    ids=str,
)
def test_wrong_field_has_its_status(changed: dict[str, Any], status: int) -> None:
    """Even if the signature fits."""
    others = {name: value for name, value in changed.items() if name != "counter"}
    assert _status(package_of(_NEW, changed.get("counter", 2), **others)) == status
    assert status in STATUS


def test_signature_covers_the_record() -> None:
    """A signature of another record, and one of zeros, are refused."""
    other = package_of(_NEW, 3)[HEAD_BYTES - 64 : HEAD_BYTES]
    for signature in (other, bytes(64)):
        assert _status(package_of(_NEW, 2, seal=signature)) == _SIGNATURE


def test_device_without_verification_takes_unsigned_packages_only_if_it_says_so() -> None:
    """Unsigned or signed: it cannot tell."""
    for package in (package_of(_NEW, 2, seal=bytes(64), signature=0), package_of(_NEW, 2)):
        assert _status(package, trust=1) == _OK
        assert _status(package, trust=2) == _SIGNATURE


def test_delta_for_another_file_is_refused() -> None:
    """By its digest, and by its size."""
    assert _status(package_of(_NEW, 2, file_of(2))) == _BASE
    assert _status(package_of(_NEW, 2, _OLD, base_bytes=len(_OLD.data) + 4)) == _BASE


def test_kernel_that_the_core_lacks_is_refused() -> None:
    """Before anything is erased: the file is never written. An id that was changed on the way is a damaged package."""
    ids = struct.pack(f"<{len(_NEW.kernel_ids)}I", _NEW.kernel_ids[0] ^ 1, *_NEW.kernel_ids[1:])
    right = zlib.crc32(struct.pack(f"<{len(_NEW.kernel_ids)}I", *_NEW.kernel_ids))
    for kernel_sum, status in ((zlib.crc32(ids), _KERNEL), (right, _PACKAGE)):
        package = bytearray(package_of(_NEW, 2, kernel_sum=kernel_sum))
        package[HEAD_BYTES] ^= 1
        assert _status(bytes(package)) == status


def _moved() -> tuple[bytes, dict[str, Any]]:
    """A payload that makes a file whose second sector is the first one of the old file, and the fields of its package."""
    data = _OLD.data[:_SECTOR] + _OLD.data[: len(_OLD.data) - _SECTOR - 32]
    data += hashlib.sha256(data).digest()
    fields = {"digest": data[-32:], "block_bytes": _SECTOR, "kind": Payload.IN_PLACE}
    return encode(_OLD.data, data, _SECTOR), fields


@pytest.mark.parametrize("block_bytes", [256, 1024])
def test_delta_is_applied_in_place_or_into_the_other_slot(block_bytes: int) -> None:
    """A device with two slots takes it as any other delta; one with a single slot takes it in blocks of a sector or smaller."""
    package = package_of(_NEW, 2, _OLD, in_place=block_bytes)
    assert _status(package, sizes=_IN_PLACE) == _OK
    assert _status(package) == _OK


def test_package_that_cannot_be_applied_in_place_is_refused() -> None:
    """By its head: another kind of delta, larger blocks, no room for it or for a whole file, another base, an older version."""
    payload = package_of(_NEW, 2, _OLD, in_place=1024)[HEAD_BYTES + 4 * len(_NEW.kernel_ids) :]
    assert 16 < len(payload) < _SECTOR
    for package, status in (
        (package_of(_NEW, 2, _OLD), _PACKAGE),
        (package_of(_NEW, 2, _OLD, in_place=2048), _PACKAGE),
        (package_of(_NEW, 2, _OLD, in_place=1024, payload=payload + bytes(_SECTOR)), _SPACE),
        (package_of(_NEW, 2), _SPACE),
        (package_of(_NEW, 2, file_of(2), in_place=1024), _BASE),
        (package_of(_NEW, 1, _OLD, in_place=1024), _OLDER),
        (package_of(_NEW, 2, _OLD, in_place=1024, seal=bytes(64)), _SIGNATURE),
    ):
        assert _status(package, sizes=_IN_PLACE) == status


def test_delta_that_would_break_the_slot_is_refused() -> None:
    """Its payload needs what is overwritten by then, makes another file, or lacks bytes, or has too many: nothing changes."""
    moved, fields = _moved()
    right = package_of(_NEW, 2, _OLD, in_place=1024)
    payload = right[HEAD_BYTES + 4 * len(_NEW.kernel_ids) :]
    assert len(decode(moved, _OLD.data, len(_OLD.data), _SECTOR)) == len(_OLD.data)
    with pytest.raises(PackageError, match="asks for bytes that the older file lacks"):
        decode(moved, _OLD.data, len(_OLD.data), _SECTOR, in_place=True)
    damaged = bytearray(_NEW.data)
    damaged[len(damaged) // 2] ^= 1  # and ends with the digest that it should have
    for package in (
        package_of(_OLD, 2, _OLD, payload=moved, **fields),
        package_of(_NEW, 2, _OLD, in_place=1024, payload=encode(_OLD.data, bytes(damaged), 1024, in_place=True)),
        package_of(_NEW, 2, _OLD, in_place=1024, payload=moved),
        package_of(_NEW, 2, _OLD, in_place=1024, digest=bytes(32)),
        package_of(_NEW, 2, _OLD, in_place=1024, payload=payload[:-1]),
        package_of(_NEW, 2, _OLD, in_place=1024, payload=payload + b"\0"),
        package_of(_NEW, 2, _OLD, in_place=1024, file_bytes=len(_NEW.data) - 4),
        package_of(_NEW, 2, _OLD, in_place=1024, file_bytes=len(_NEW.data) + 4),
        right + b"\0",
        right[:-1],
    ):
        assert _status(package, sizes=_IN_PLACE) == _PACKAGE


def test_cut_or_endless_stream_is_refused() -> None:
    """One byte less, and one more."""
    package = package_of(_NEW, 2)
    assert _status(package[:-1]) == _PACKAGE
    assert _status(package + b"\0") == _PACKAGE


def test_calls_without_memory_or_out_of_order_are_refused(tmp_path: Path) -> None:
    """Null pointers, an update that was not begun, and a store of sizes that do not fit."""
    library = load_shared(written_core(_OLD.kernels, target("host"), tmp_path), includes=[tmp_path])
    update, store, boot = (ctypes.create_string_buffer(1024) for _ in range(3))
    calls: dict[str, list[tuple[Any, ...]]] = {
        "boot": [(None, boot), (store, None)],
        "confirm": [(None,)],
        "reject": [(None,)],
        "begin": [(None, store), (update, None)],
        "write": [(None, 0, b"a", 1), (update, 0, None, 1)],
        "finish": [(None,)],
    }
    for name, rows in calls.items():
        for row in rows:
            assert getattr(library, f"kibi_update_{name}")(*row) == -1, name
        for row in calls.get(name, []) if name not in {"confirm", "reject"} else []:
            assert getattr(library, f"kibi_in_place_{name}")(*row) == -1, name
    for way in ("update", "in_place"):
        assert getattr(library, f"kibi_{way}_write")(update, 0, b"a", 1) == -4
        assert getattr(library, f"kibi_{way}_finish")(update) == -4
        assert getattr(library, f"kibi_{way}_begin")(update, store) == -10


def test_statuses_of_updates_are_in_python_and_c() -> None:
    """The numbers of the header, each with a text."""
    header = (kernel_folder() / "kibi.h").read_text(encoding="utf-8")
    codes = {int(value) for value in re.findall(r"KIBI_ERROR_\w+ = (-\d+)", header)}
    assert set(range(-24, -15)) <= codes & STATUS.keys()


def test_core_without_deltas_has_no_decoder(tmp_path: Path) -> None:
    """With KIBI_UPDATE_DELTA as 0 in all files: updates in place, which are deltas, are not there either."""
    sources = written_core(["kibi_add_s8"], target("cortex-m4"), tmp_path)
    header = tmp_path / "kibi_update.h"
    header.write_text(header.read_text().replace("#define KIBI_UPDATE_DELTA 1", "#define KIBI_UPDATE_DELTA 0"))
    names = {"kibi_sha256.c", "kibi_core.c", "kibi_run.c", "kibi_crc32.c"}
    names |= {"kibi_update.c", "kibi_update_in_place.c", "kibi_delta.c"}
    image = build_image(
        [each for each in sources if each.name in names], target("cortex-m4"), entries=["kibi_update_write"], level="s",
        includes=[tmp_path],
    )  # fmt: skip
    functions = {name for _, _, name in image.functions}
    assert "kibi_update_write" in functions
    assert not any("delta" in name or "in_place" in name for name in functions)


@pytest.mark.parametrize("compiler", ["gcc", "zig"])
def test_device_side_takes_few_bytes(compiler: str, tmp_path: Path) -> None:
    """Slots, journal and packages on the Cortex-M4: as many bytes as the page says, besides the check sums that a core has.

    The page says the RAM of an update, too, which is less than 512 bytes.
    """
    if compiler == "gcc":
        check_cross()
    sources = written_core(["kibi_add_s8"], target("cortex-m4"), tmp_path)
    names = {"kibi_update.c", "kibi_delta.c", "kibi_sha256.c", "kibi_core.c", "kibi_run.c", "kibi_crc32.c"}
    entries = [f"kibi_update_{name}" for name in ("boot", "confirm", "reject", "begin", "write", "wanted", "finish")]
    probe = tmp_path / "probe.c"
    probe.write_text(
        '#include "kibi_update.h"\nuint32_t ram_bytes(void);\nuint32_t ram_bytes(void) { return sizeof(kibi_update); }\n'
    )
    image = build_image(
        [probe, *(each for each in sources if each.name in names)], target("cortex-m4"), entries=[*entries, "ram_bytes"],
        compiler=compiler, level="s", includes=[tmp_path],
    )  # fmt: skip
    shared = ("mem", "kibi_sha256", "kibi_crc32", "kibi_kernel_of", "kibi_refused", "ram_bytes")
    found = sum(end - first for first, end, name in image.functions if not any(each in name for each in shared))
    told = re.search(
        r"take ([\d,]+) bytes of\s+code with gcc and ([\d,]+) with zig", (DOCS / "field-updates.md").read_text("utf-8")
    )
    assert told is not None
    most = int(told[1 + (compiler == "zig")].replace(",", ""))
    assert most * 0.95 <= found <= most * (1.05 if compiler == "gcc" else 1)
    ram = Core(image, target("cortex-m4")).call("ram_bytes").value
    assert f"`kibi_update` takes {ram} bytes of RAM" in (DOCS / "field-updates.md").read_text("utf-8")
    assert ram <= 512


_STUBS = {
    "monocypher-ed25519.h": """\
#include <stddef.h>
#include <stdint.h>
int crypto_ed25519_check(const uint8_t signature[64], const uint8_t public_key[32], const uint8_t *message, size_t bytes);
""",
    "psa/crypto.h": """\
#include <stddef.h>
#include <stdint.h>
typedef int32_t psa_status_t;
typedef uint32_t psa_key_id_t;
typedef struct { uint32_t type, bits, usage, algorithm; } psa_key_attributes_t;
#define PSA_KEY_ATTRIBUTES_INIT {0, 0, 0, 0}
#define PSA_SUCCESS ((psa_status_t)0)
#define PSA_ALG_PURE_EDDSA 0x06000800u
#define PSA_ECC_FAMILY_TWISTED_EDWARDS 0x42u
#define PSA_KEY_TYPE_ECC_PUBLIC_KEY(family) (0x4100u | (family))
#define PSA_KEY_USAGE_VERIFY_MESSAGE 0x800u
void psa_set_key_type(psa_key_attributes_t *attributes, uint32_t type);
void psa_set_key_bits(psa_key_attributes_t *attributes, size_t bits);
void psa_set_key_usage_flags(psa_key_attributes_t *attributes, uint32_t usage);
void psa_set_key_algorithm(psa_key_attributes_t *attributes, uint32_t algorithm);
psa_status_t psa_crypto_init(void);
psa_status_t psa_import_key(const psa_key_attributes_t *attributes, const uint8_t *data, size_t bytes, psa_key_id_t *key);
psa_status_t psa_verify_message(psa_key_id_t key, uint32_t algorithm, const uint8_t *message, size_t message_bytes,
                                const uint8_t *signature, size_t signature_bytes);
psa_status_t psa_destroy_key(psa_key_id_t key);
""",
}
_ANSWERS = """
#include "monocypher-ed25519.h"
#include "psa/crypto.h"
const uint8_t kibi_public_key[32] = {9};
int answer, failing;
int crypto_ed25519_check(const uint8_t signature[64], const uint8_t public_key[32], const uint8_t *message, size_t bytes)
{
    return signature[0] == 7 && public_key[0] == 9 && message[0] == 5 && bytes == 120 ? answer : -1;
}
void psa_set_key_type(psa_key_attributes_t *attributes, uint32_t type) { attributes->type = type; }
void psa_set_key_bits(psa_key_attributes_t *attributes, size_t bits) { attributes->bits = (uint32_t)bits; }
void psa_set_key_usage_flags(psa_key_attributes_t *attributes, uint32_t usage) { attributes->usage = usage; }
void psa_set_key_algorithm(psa_key_attributes_t *attributes, uint32_t algorithm) { attributes->algorithm = algorithm; }
psa_status_t psa_crypto_init(void) { return failing == 1 ? -1 : 0; }
psa_status_t psa_import_key(const psa_key_attributes_t *attributes, const uint8_t *data, size_t bytes, psa_key_id_t *key)
{
    *key = 3;
    return failing != 2 && attributes->type == 0x4142u && attributes->bits == 255 && attributes->usage == 0x800u &&
           attributes->algorithm == PSA_ALG_PURE_EDDSA && data[0] == 9 && bytes == 32 ? 0 : -1;
}
psa_status_t psa_verify_message(psa_key_id_t key, uint32_t algorithm, const uint8_t *message, size_t message_bytes,
                                const uint8_t *signature, size_t signature_bytes)
{
    return key == 3 && algorithm == PSA_ALG_PURE_EDDSA && message[0] == 5 && message_bytes == 120 && signature[0] == 7 &&
           signature_bytes == 64 ? answer : -1;
}
psa_status_t psa_destroy_key(psa_key_id_t key) { return key == 3 && failing != 3 ? 0 : -1; }
"""


def test_adapters_pass_on_what_their_libraries_say(tmp_path: Path) -> None:
    """Against stand-ins of the libraries' functions: message, key and signature arrive, and a failure is one."""
    written_core(["kibi_add_s8"], target("host"), tmp_path)
    (tmp_path / "psa").mkdir()
    for name, text in _STUBS.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "answers.c").write_text(_ANSWERS)
    adapters = sorted((CORE / ADAPTERS).glob("*.c"))
    assert len(adapters) == 2
    library = load_shared([*adapters, tmp_path / "answers.c"], includes=[tmp_path])
    message, signature = bytes([5]) * 120, bytes([7]) * 64
    answer, failing = (ctypes.c_int.in_dll(library, name) for name in ("answer", "failing"))
    for adapter in (library.kibi_verify_monocypher, library.kibi_verify_psa):
        assert adapter(None, message, 120, signature) == 0
        assert adapter(None, message, 119, signature) != 0
        answer.value = -149
        assert adapter(None, message, 120, signature) != 0
        answer.value = 0
    for failing.value in (1, 2, 3):
        assert library.kibi_verify_psa(None, message, 120, signature) != 0


def test_core_has_the_adapters_outside_of_its_build() -> None:
    """They are written with the core, and its build file names none of them."""
    core = WrittenCore.of(["kibi_add_s8"], target("cortex-m4"))
    files = {name.path: text.text for name, text in core_files(core, target("cortex-m4"), "kibi core").items()}
    assert {"adapters/kibi_verify_monocypher.c", "adapters/kibi_verify_psa.c"} <= files.keys()
    assert "kibi_update.c" in files["CMakeLists.txt"]
    assert "adapters" not in files["CMakeLists.txt"]
