"""QEMU as an emulator: runs what the toolchain linked for one of its machines, counts instructions, and checks accesses."""

from kibi.qemu.core import QemuCore
from kibi.qemu.cores import emulated, missing_qemu, why_not_emulated

__all__ = ["QemuCore", "emulated", "missing_qemu", "why_not_emulated"]
