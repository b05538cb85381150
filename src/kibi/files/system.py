"""The differences between operating systems, in one place.

Linux, macOS and other POSIX systems have users with numbers, permissions in files, pipes with names; Windows has none of them, and
translates line ends unless it is told not to.
"""

import os
import stat
from pathlib import Path
from typing import Literal

Flag = Literal["O_CLOEXEC", "O_NOCTTY", "O_NOFOLLOW", "O_NONBLOCK"]
"""Flags that some systems lack."""


def open_flags(flags: int, *names: Flag) -> int:
    """Returns flags for `os.open`, including the named ones that the system has; never with conversion of line ends.

    Args:
        flags: those that every system has.
        names: those that some lack.
    """
    for name in (*names, "O_BINARY"):
        flags |= getattr(os, name, 0)
    return flags


def has_users() -> bool:
    """True if the system numbers its users, and files say which of them may write."""
    return hasattr(os, "geteuid")


def is_of_ours(status: os.stat_result) -> bool:
    """True if we own a file, or the system does not say who does."""
    return not has_users() or status.st_uid == os.geteuid()


def is_in_home(folder: Path) -> bool:
    """True if a folder is in the user's home, which Windows opens to this user and administrators alone."""
    home = Path(os.path.realpath(Path.home()))
    return folder == home or home in folder.parents


def lock(handle: int) -> bool:
    """Locks an open file until it is closed, and returns True; False if another process has locked it.

    Where the system has no such locks, nothing happens. A process that ends, in whatever way, leaves no lock.
    """
    try:
        import fcntl  # noqa: PLC0415 - only some systems have it
    except ImportError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def take_over(handle: int, like: os.stat_result) -> None:
    """Gives an open file the owner and the permissions of another one, where files have them."""
    if not (hasattr(os, "fchown") and hasattr(os, "fchmod")):
        return
    mode = stat.S_IMODE(like.st_mode)
    made = os.fstat(handle)
    if (made.st_uid, made.st_gid) != (like.st_uid, like.st_gid):
        try:
            os.fchown(handle, like.st_uid, like.st_gid)
        except PermissionError:
            mode &= 0o777  # nobody's program may run as somebody else
    os.fchmod(handle, mode)
