"""Advisory locks: one process at a time works in a run directory and writes a journal.

The lock dies with its process, so a run whose program was killed is told from one that is still
running.
"""

import fcntl

from hwmodel.errors import RunDirectoryError


def try_lock(descriptor: int) -> bool:
    """Take the exclusive lock of an open file or directory; False when another process holds it.

    On file systems without locks the answer is True: there the user has to take care.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def require_lock(descriptor: int, what: str) -> None:
    """Take the lock or say who is in the way.

    Raises:
        RunDirectoryError: another process holds it.
    """
    if not try_lock(descriptor):
        raise RunDirectoryError(
            f"{what} is in use by another process; wait until it has ended or end it"
        )
