"""Hardware files: load by name or path, write, digest.

`--hw` and `load_hardware` take the name of a bundled spec (`ascend950pr-9589`, or the vendor's
`Ascend950PR_9589`, in any case), the path of a `.toml` hardware file, or the path of a platform
`.ini` file of the vendor's installation.
"""

import hashlib
import json
import tomllib
from difflib import get_close_matches
from functools import cache
from importlib import resources
from pathlib import Path

from hwmodel.errors import HardwareSpecError, InputError
from hwmodel.platform_ini import UTF16_BOMS, PlatformIni, parse_platform_ini
from hwmodel.platform_spec import complete_platform_ini
from hwmodel.spec import HardwareSpec
from hwmodel.spec_document import build_document, parse_document

DEFAULT_HARDWARE = "ascend950pr-9589"
"""The chip on which the measured kernels ran."""

DAV_3510 = "DAV_3510"
"""NpuArch of the Ascend 950: the one whose tiling heuristic and kernels the project reproduces."""

_BASE_OF_ARCH = {DAV_3510: DEFAULT_HARDWARE, "DAV_2201": "ascend910b1"}
"""Spec that completes the platform file of a SoC that has none bundled: its arch's best known."""

_TOML_SUFFIX = ".toml"
_INI_SUFFIX = ".ini"
_CLOSE_MATCHES = 3
_CLOSE_ENOUGH = 0.4

_HEADER = """\
# Figures of one chip: each with where it comes from and, unless it is documented, the range in
# which it may really lie. Units are in the names; rates are per cycle of the core clock, of one
# core unless the name says total.

"""


@cache
def hardware_names() -> tuple[str, ...]:
    """Names of the bundled specs, sorted."""
    return tuple(
        sorted(
            entry.name.removesuffix(_TOML_SUFFIX)
            for entry in resources.files("hwmodel").joinpath("specs").iterdir()
            if entry.name.endswith(_TOML_SUFFIX)
        )
    )


def load_hardware(name_or_path: str, *, base: str | None = None) -> HardwareSpec:
    """The spec of that name, or read from that file.

    Args:
        name_or_path: a name of `hardware_names()`, a SoC name of the vendor's, or a path that
            ends in `.toml` or `.ini`.
        base: for an `.ini` file, name or path of the spec that gives the figures the file lacks;
            by default the bundled spec of the same NpuArch.

    Raises:
        HardwareSpecError: unknown name, unreadable file or a wrong entry in it.
        InputError: `base` given together with something that is no `.ini` file.
    """
    suffix = Path(name_or_path).suffix.lower()
    if suffix == _INI_SUFFIX:
        return _load_ini(Path(name_or_path), base)
    if base is not None:
        raise InputError(
            f"{name_or_path}: a base ({base}) only completes a platform .ini file; leave it out"
        )
    if suffix == _TOML_SUFFIX:
        return _load_toml(Path(name_or_path))
    if Path(name_or_path).name != name_or_path:
        raise HardwareSpecError(
            f"{name_or_path}: a hardware file ends in {_TOML_SUFFIX} or {_INI_SUFFIX}; "
            "give the path of one, or a name"
        )
    return _load_bundled(_find_name(name_or_path))


def write_hardware(spec: HardwareSpec, path: Path) -> None:
    """Write a spec as TOML; `load_hardware` gives an equal spec back.

    Raises:
        OSError: the file cannot be written.
    """
    path.write_text(format_hardware(spec), encoding="utf-8", newline="\n")


def format_hardware(spec: HardwareSpec) -> str:
    """The text of the spec's hardware file; equal specs give equal text."""
    import tomlkit

    document = tomlkit.document()
    for key, entry in build_document(spec).items():
        if not isinstance(entry, dict):
            document.add(key, entry)
            continue
        table = tomlkit.table()
        for name, figure in entry.items():
            if key == "calibration":
                table.add(name, figure)
                continue
            inline = tomlkit.inline_table()
            inline.update(figure)
            table.add(name, inline)
        document.add(key, table)
    return _HEADER + tomlkit.dumps(document)


def spec_digest(spec: HardwareSpec) -> str:
    """sha256, in hex, of everything the spec says; the same on every machine.

    It covers figures, provenance and calibrations, so results kept under it never outlive a change
    of any of them; it does not depend on the layout of the file.
    """
    text = json.dumps(build_document(spec), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def require_dav_3510(spec: HardwareSpec, as_950: bool) -> None:
    """Refuse a chip whose NpuArch is not that of the Ascend 950, unless told to go on.

    The heuristic and the kernels that the project reproduces are those of DAV_3510.

    Raises:
        InputError: another arch, and `as_950` is false.
    """
    if spec.npu_arch != DAV_3510 and not as_950:
        raise InputError(
            f"{spec.name} has NpuArch {spec.npu_arch}, but the heuristic and the kernels are "
            f"those of {DAV_3510} (Ascend 950); give --as-950 to apply them all the same"
        )


def _read_content(path: Path) -> bytes:
    """The bytes of a hardware file, which is neither missing nor a directory, empty or binary."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise HardwareSpecError(
            f"{path}: no such file; give the path of a hardware file, or one of the names "
            f"{', '.join(hardware_names())}"
        ) from None
    except IsADirectoryError:
        raise HardwareSpecError(f"{path}: is a directory; give the path of a file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise HardwareSpecError(f"{path}: cannot be read ({reason})") from None
    if not content.strip():
        raise HardwareSpecError(f"{path}: is empty; give a file that describes a chip")
    if b"\0" in content and not content.startswith(UTF16_BOMS):
        raise HardwareSpecError(f"{path}: is a binary file; give a text file")
    return content


def _load_toml(path: Path) -> HardwareSpec:
    content = _read_content(path)
    try:
        document = tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise HardwareSpecError(
            f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8"
        ) from None
    except (ValueError, RecursionError) as error:
        # Besides TOMLDecodeError: a number of thousands of digits, thousands of nested arrays.
        raise HardwareSpecError(f"{path}: is not valid TOML: {error}; correct it") from None
    return parse_document(document, str(path))


def _load_ini(path: Path, base: str | None) -> HardwareSpec:
    ini = parse_platform_ini(_read_content(path), str(path))
    return complete_platform_ini(ini, load_hardware(base or _select_base(ini)))


def _select_base(ini: PlatformIni) -> str:
    """Name of the bundled spec that completes a platform file: of its SoC, else of its NpuArch."""
    own_name = ini.soc.lower().replace("_", "-")
    if own_name in hardware_names():
        return own_name
    if ini.npu_arch is None:
        raise HardwareSpecError(
            f"{ini.where}: version.NpuArch: is missing, and neither Short_SoC_version nor "
            "AIC_version tells it; add it, or name a base spec (--hw-base)"
        )
    name = _BASE_OF_ARCH.get(ini.npu_arch)
    if name is None:
        raise HardwareSpecError(
            f"{ini.where}: version.NpuArch: no bundled spec has {ini.npu_arch}; "
            "name a base spec (--hw-base)"
        )
    return name


@cache
def _load_bundled(name: str) -> HardwareSpec:
    file_name = f"{name}{_TOML_SUFFIX}"
    text = resources.files("hwmodel").joinpath("specs", file_name).read_text(encoding="utf-8")
    return parse_document(tomllib.loads(text), file_name)


def _find_name(name: str) -> str:
    """The bundled name meant by `name`, which may be the vendor's and in any case."""
    wanted = name.strip().lower().replace("_", "-")
    names = hardware_names()
    if wanted in names:
        return wanted
    close = get_close_matches(wanted, names, n=_CLOSE_MATCHES, cutoff=_CLOSE_ENOUGH)
    hint = f" (did you mean {' or '.join(close)}?)" if close else ""
    raise HardwareSpecError(
        f"{name!r} is no known hardware{hint}; give one of {', '.join(names)}, or the path of a "
        f"{_TOML_SUFFIX} or {_INI_SUFFIX} file"
    )
