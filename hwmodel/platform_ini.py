"""The vendor's platform .ini files, one for each SoC in every CANN installation: reading them.

`platform_spec.py` makes a `HardwareSpec` of what is read here.
"""

import configparser
import re
from collections.abc import Mapping
from dataclasses import dataclass

from hwmodel.errors import HardwareSpecError

_UTF8_BOM = b"\xef\xbb\xbf"
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")

_ARCH_OF_AIC_VERSION = {"aic-c-220": "DAV_2201", "aic-c-310": "DAV_3510"}
_ARCH_OF_SHORT_SOC = {
    "ascend910b": "DAV_2201",
    "ascend910_93": "DAV_2201",
    "ascend950": "DAV_3510",
}
"""NpuArch of files older than the key, from the names that the vendor gives to chips and cores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformIni:
    """A platform file that was read.

    Attributes:
        where: name of the file, for messages.
        soc: the vendor's SoC name.
        npu_arch: architecture such as `DAV_3510`; None when the file does not tell.
        entries: value of every key, by lower-case section and key; empty values are left out.
    """

    where: str
    soc: str
    npu_arch: str | None
    entries: Mapping[tuple[str, str], str]

    def find(self, section: str, key: str) -> str | None:
        """Value of a key, None when it is missing or empty."""
        return self.entries.get((section.lower(), key.lower()))


def parse_platform_ini(content: bytes, where: str) -> PlatformIni:
    """Read a platform file, whatever its encoding, line ends and repeated keys (the last counts).

    Raises:
        HardwareSpecError: not an .ini file, or one that describes no SoC.
    """
    parser = configparser.RawConfigParser(
        delimiters=("=",),
        comment_prefixes=("#", ";"),
        inline_comment_prefixes=("#", ";"),
        strict=False,
        allow_no_value=True,
        default_section="\n",
    )
    # Indented lines would continue the line before; the vendor's files have no such lines.
    lines = (line.strip() for line in re.split(r"\r\n|\r|\n", _decode(content, where)))
    try:
        parser.read_string("\n".join(lines))
    except configparser.Error as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise HardwareSpecError(
            f"{where}: is not a platform .ini file ({reason}); give one of a CANN installation"
        ) from None
    entries = {
        (section.lower(), key.lower()): value.strip()
        for section in parser.sections()
        for key, value in parser.items(section)
        if value is not None and value.strip()
    }
    soc = entries.get(("version", "soc_version"))
    if soc is None:
        raise HardwareSpecError(
            f"{where}: version.SoC_version: is missing, so this is no platform .ini file; "
            "give one of a CANN installation"
        )
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", soc) is None:
        raise HardwareSpecError(
            f"{where}: version.SoC_version: is {soc!r}, expected a name such as Ascend950PR_9589"
        )
    return PlatformIni(
        where=where, soc=soc, npu_arch=_find_npu_arch(entries, where), entries=entries
    )


def _decode(content: bytes, where: str) -> str:
    """The text of the file; keys and values are ASCII, so the fallback only touches comments."""
    if content.startswith(UTF16_BOMS):
        try:
            return content.decode("utf-16")
        except UnicodeDecodeError:
            raise HardwareSpecError(
                f"{where}: starts like UTF-16 but is not; save the file as UTF-8"
            ) from None
    try:
        return content.removeprefix(_UTF8_BOM).decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _find_npu_arch(entries: Mapping[tuple[str, str], str], where: str) -> str | None:
    """NpuArch of the file: its own key, else what its older keys imply."""
    arch = entries.get(("version", "npuarch"))
    if arch is not None:
        digits = arch.upper().removeprefix("DAV_")
        if not digits.isascii() or not digits.isdigit():
            raise HardwareSpecError(
                f"{where}: version.NpuArch: is {arch!r}, expected a number such as 3510"
            )
        return f"DAV_{digits}"
    short_soc = entries.get(("version", "short_soc_version"), "").lower()
    aic_version = entries.get(("version", "aic_version"), "").lower()
    return _ARCH_OF_SHORT_SOC.get(short_soc) or _ARCH_OF_AIC_VERSION.get(aic_version)
