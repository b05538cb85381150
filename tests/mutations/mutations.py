"""All seeded bugs."""

from tests.mutations.arm_kernels import ARM_KERNELS
from tests.mutations.codegen import CODEGEN
from tests.mutations.debugger import DEBUGGER
from tests.mutations.decisions import DECISIONS
from tests.mutations.eager import EAGER
from tests.mutations.emulator import EMULATOR
from tests.mutations.evaluation import EVALUATION
from tests.mutations.frontends import FRONTENDS
from tests.mutations.gate import GATE
from tests.mutations.helium_kernels import HELIUM_KERNELS
from tests.mutations.host_kernels import HOST_KERNELS
from tests.mutations.kernels import KERNELS
from tests.mutations.mutation import Mutation
from tests.mutations.packages import PACKAGES
from tests.mutations.pages import PAGES
from tests.mutations.planner import PLANNER
from tests.mutations.qemu import QEMU
from tests.mutations.quantization import QUANTIZATION
from tests.mutations.riscv_kernels import RISCV_KERNELS
from tests.mutations.runtime import RUNTIME
from tests.mutations.sweeps import SWEEPS
from tests.mutations.update import UPDATE

MUTATIONS: tuple[Mutation, ...] = (
    *KERNELS, *ARM_KERNELS, *HOST_KERNELS, *HELIUM_KERNELS, *RISCV_KERNELS,
    *PLANNER, *CODEGEN, *FRONTENDS, *DECISIONS, *RUNTIME, *EAGER, *UPDATE, *EVALUATION, *SWEEPS,
    *QUANTIZATION, *GATE, *PACKAGES, *PAGES, *EMULATOR, *DEBUGGER, *QEMU,
)  # fmt: skip
"""In the order in which they are tried."""
