"""What servers describe: registers by number, and flash in blocks; whatever the text is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibi.debugger.descriptions import FlashBlocks, Register, flash_of, parts_of, registers_of

_NAMES = (*(f"r{number}" for number in range(13)), "sp", "lr", "pc")


def _registers(text: str) -> list[str]:
    return [attributes for _, attributes in parts_of(text) if attributes]


def test_registers_are_numbered_by_their_order_and_by_what_is_given() -> None:
    """QEMU gives xpsr a number, OpenOCD gives every register one."""
    text = (
        "".join(f'<reg name="{name}" bitsize="32"/>' for name in _NAMES) + '<reg name="xPSR" bitsize="32" regnum="25"/>'
    )
    found = registers_of(_registers(text + '<reg name="d0" bitsize="64" type="float"/>'))
    assert (found["sp"], found["xpsr"], found["d0"]) == (Register(13, 32), Register(25, 32), Register(26, 64))
    shifted = "".join(f"<reg name='{name}' bitsize='32' regnum='{9 + number}'/>" for number, name in enumerate(_NAMES))
    assert registers_of(_registers(shifted + "<reg name='cpsr' bitsize='32'/>"))["xpsr"] == Register(25, 32)


@pytest.mark.parametrize(
    "text", ["", "<reg regnum='99999999999'/>", "<reg >" * 9000], ids=["none", "no-number", "many"]
)
def test_descriptions_without_a_core_have_no_registers(text: str) -> None:
    """What is not understood is left out."""
    assert set(registers_of(_registers(text))) <= {""}


def test_includes_are_names_and_never_paths() -> None:
    """What the server is asked for next, in its place among the registers."""
    text = '<reg name="r0"/><xi:include href="core.xml"/><xi:include href="../etc/passwd"/><xi:include href="/x"/>'
    assert [name for name, _ in parts_of(text)] == ["", "core.xml"]


def test_flash_is_told_by_its_blocks() -> None:
    """Ranges without blocks, beyond the last address, or upon others are left out."""

    def memory(start: object, length: object, block: object, kind: str = "flash") -> str:
        return f'<memory type="{kind}" start="{start}" length="{length}"><property name="blocksize">{block}</property></memory>'

    text = memory("0x1000", "0x1000", "0x400") + memory("0", 4096, 256) + memory(0, 10, 10, "ram")
    text += memory("0x800", "0x1000", "0x400") + memory("0xffffffff", 4, 4) + memory(0, 100, 3) + memory(0, 0, 4)
    text += '<memory type="flash" start="0x9000" length="0x1000"/>' + memory("0x8000", "0x1000", 0)
    assert flash_of(text) == (FlashBlocks(0, 4096, 256), FlashBlocks(0x1000, 0x1000, 0x400))


@given(st.text(alphabet="<>/=\"' regnamebitszu0x1memory:includhf", max_size=400))
def test_any_text_is_read(text: str) -> None:
    """Without an error."""
    assert all(each.number >= 0 for each in registers_of(_registers(text)).values())
    assert isinstance(flash_of(text), tuple)
