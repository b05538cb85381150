"""Trust in files that Kibi loads: whether others could have written them, by the rules of `sshd`."""

import os
import stat
from pathlib import Path

from kibi.files.system import has_users, is_in_home

_ROOT = 0


def why_not_trusted(folder: Path) -> str:
    """Returns why somebody else may change the contents of a folder; empty if only its owner and root can.

    The folder must be ours or root's, and writable by nobody else. Each folder above it must be ours or root's, too, and either
    be writable by nobody else or be sticky, as `/tmp` is: there, others cannot rename what is ours.

    Windows says nothing of this in a file's status. There a folder must be in the user's home.

    Args:
        folder: an absolute path without links, as `os.path.realpath` gives it.

    Raises:
        OSError: a folder cannot be looked at.
    """
    if not has_users():
        return "" if is_in_home(folder) else f"{folder} is not in your home folder, so that others may change it"
    for place in (folder, *folder.parents):
        status = place.lstat()
        if not stat.S_ISDIR(status.st_mode):
            return f"{place} is no folder"
        may_be_sticky = place != folder
        reason = _who_else(status, may_be_sticky=may_be_sticky)
        if reason:
            return f"{place} {reason}"
    return ""


def is_ours(status: os.stat_result) -> bool:
    """True if a file or folder belongs to the user or root, and nobody else may write to it; on Windows its folder decides."""
    return not has_users() or not _who_else(status, may_be_sticky=False)


def _who_else(status: os.stat_result, *, may_be_sticky: bool) -> str:
    """Returns who else may write; empty if nobody."""
    if status.st_uid not in (_ROOT, os.geteuid()):
        return f"belongs to {_user(status.st_uid)}"
    if may_be_sticky and status.st_mode & stat.S_ISVTX:
        return ""
    if status.st_mode & stat.S_IWOTH:
        return "can be written by everybody"
    if status.st_mode & stat.S_IWGRP and not _is_group_of_one(status.st_gid, status.st_uid):
        return "can be written by its group"
    return ""


def _is_group_of_one(group: int, user: int) -> bool:
    """Returns whether a group is the private one that many systems give to each user, by its name and members.

    On such systems the usual umask is 002, and folders are writable by a group that holds nobody else.
    """
    if group == _ROOT:  # whoever is in it is root in effect
        return True
    import grp  # noqa: PLC0415 - Windows has no such module
    import pwd  # noqa: PLC0415 - as above

    try:
        found, owner = grp.getgrgid(group), pwd.getpwuid(user)
    except KeyError:
        return False
    return found.gr_name == owner.pw_name and owner.pw_gid == group and set(found.gr_mem) <= {owner.pw_name}


def _user(number: int) -> str:
    import pwd  # noqa: PLC0415 - as above

    try:
        return f"the user {pwd.getpwuid(number).pw_name}"
    except KeyError:
        return f"the user {number}"
