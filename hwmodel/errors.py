"""The whole exception tree of the project, on one screen.

Every error a user can cause derives from `AutotuneError` and carries the exit code of the
command line. A message says where the problem is, what is wrong and what to do, in one line.
"""

from typing import ClassVar

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_NO_LEGAL_PLAN = 3
EXIT_FAIL_IF_MET = 4
EXIT_INTERRUPTED = 130


class AutotuneError(Exception):
    """Root of the tree: the work failed for a reason that one line explains."""

    exit_code: ClassVar[int] = EXIT_FAILED


class InputError(AutotuneError):
    """What the user gave cannot be used as it is: a value, a file, an option."""

    exit_code: ClassVar[int] = EXIT_BAD_INPUT


class HardwareSpecError(InputError):
    """A hardware file is wrong; the message names the file and the dotted path of the entry."""


class RejectedError(InputError):
    """The vendor's operator rejects the request.

    Attributes:
        code: stable snake_case code, e.g. `dim_out_of_range`.
        where: the vendor's function that rejects it, e.g. `ValidateShape`.
    """

    def __init__(self, code: str, where: str, message: str) -> None:
        """Carry the stable code and the vendor's function beside the message."""
        super().__init__(message)
        self.code = code
        self.where = where


class RunDirectoryError(InputError):
    """A run directory cannot be used: another digest, another schema, not a run."""


class NoLegalPlanError(AutotuneError):
    """No point of the requested space is legal for the problem on this hardware."""

    exit_code: ClassVar[int] = EXIT_NO_LEGAL_PLAN


class InterruptedRunError(AutotuneError):
    """The run was interrupted (Ctrl-C); what is finished is kept and it can be resumed."""

    exit_code: ClassVar[int] = EXIT_INTERRUPTED
