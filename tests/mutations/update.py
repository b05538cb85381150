"""Bugs in keys and update packages: checks that are missing, secrets that others can read."""

from tests.mutations.mutation import Mutation

UPDATE: tuple[Mutation, ...] = (
    Mutation(
        "update.bytes-after-a-package-are-taken",
        "update/package.py",
        "if len(data) != end:",
        "if len(data) < end:",
        "Bytes after the payload are taken for a part of it, or not noticed.",
        ("tests/update/test_package.py", "-k", "longer or not_ascend or changed_byte"),
    ),
    Mutation(
        "update.ids-of-kernels-are-not-summed",
        "update/package.py",
        'if zlib.crc32(data[ids_at:payload_at]) != values["kernel_sum"]:',
        "if zlib.crc32(data[ids_at:payload_at]) < 0:",
        "Other ids of kernels than the signed ones are read.",
        ("tests/update/test_package.py", "-k", "changed_byte or takes_is_refused"),
    ),
    Mutation(
        "update.delta-is-applied-to-any-file",
        "update/package.py",
        "if base is None or len(base.data) != self.base_bytes or base.data[-DIGEST_BYTES:] != self.base_digest:",
        "if base is None or len(base.data) != self.base_bytes:",
        "A delta is decoded with another file of the same size.",
        ("tests/update/test_package.py", "-k", "another_file"),
    ),
    Mutation(
        "update.signature-is-of-the-magic-alone",
        "update/package.py",
        "key.verify(self.signature, self.record)",
        "key.verify(self.signature, self.record[:4])",
        "What is verified is not what was signed.",
        ("tests/update/test_package.py", "-k", "verify"),
    ),
    Mutation(
        "update.record-may-contradict-the-plan-file",
        "update/package.py",
        "if getattr(self, name) != found:",
        "if name == 'digest' and getattr(self, name) != found:",
        "A package may say that its model needs less memory than it does.",
        ("tests/update/test_package.py", "-k", "takes_is_refused"),
    ),
    Mutation(
        "update.counter-may-stay",
        "updates.py",
        "if before is not None and given <= before.counter:",
        "if before is not None and given < before.counter:",
        "An update has the counter of the version that it replaces, so that no device takes it.",
        ("tests/update/test_updates.py", "-k", "contradicts"),
    ),
    Mutation(
        "update.packages-of-others-are-signed",
        "updates.py",
        "source.verify(key.public)",
        "source.record",
        "What a stranger's package says is signed with your key.",
        ("tests/update/test_updates.py", "-k", "contradicts"),
    ),
    Mutation(
        "update.private-key-is-for-everybody",
        "update/keys.py",
        "_SECRET_MODE = 0o600",
        "_SECRET_MODE = 0o644",
        "Every user of the machine can read the private key.",
        ("tests/update/test_keys.py", "-k", "owner_alone"),
    ),
    Mutation(
        "update.pair-is-half-written",
        "update/keys.py",
        "place.unlink(missing_ok=True)",
        "place.exists()",
        "If a private key of the name exists, a public key of another pair stays beside it.",
        ("tests/update/test_keys.py", "-k", "replaced"),
    ),
)
