"""The lines of a CSV file that a user gave, and one clear message for whatever is none."""

from pathlib import Path

from hwmodel.errors import InputError


def show_path(path: Path) -> str:
    """The path as a message shows it, in one line."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in str(path))


def read_lines(path: Path) -> list[str]:
    """The physical lines of a UTF-8 file without its byte order mark; LF, CRLF and CR end them.

    Raises:
        InputError: missing, a directory, unreadable, binary or not UTF-8.
    """
    shown = show_path(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{shown}: there is no such file; check the path") from None
    except IsADirectoryError:
        raise InputError(f"{shown}: this is a directory; name a CSV file in it") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{shown}: cannot be read ({reason}); check the path") from None
    if b"\0" in data:
        line = _count_lines(data[: data.index(b"\0")])
        raise InputError(
            f"{shown}, line {line}: binary data (a NUL byte); save the table as CSV in UTF-8"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = _count_lines(error.object[: error.start])
        raise InputError(
            f"{shown}, line {line}: not UTF-8 text; save the table as CSV in UTF-8"
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _count_lines(data: bytes) -> int:
    """Number (from 1) of the line that `data` ends in."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n") + 1
