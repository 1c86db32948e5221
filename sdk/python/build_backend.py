"""Builds the wheel of this package: a PEP 517 backend of its own, so that pip needs nothing from a network.

The version is that of the C header in this tree, or, in a copy of this folder alone, of PKG-INFO beside this file.
"""

import base64
import hashlib
import io
import pathlib
import re
import tarfile
import tomllib
import zipfile

HERE = pathlib.Path(__file__).parent
HEADER = HERE.parent.parent / "include/sandlot/sandlot.h"


def _version():
    told = HERE / "PKG-INFO"
    if told.exists():
        return re.search(r"^Version: (.*)$", told.read_text(), re.M).group(1)
    return re.search(r'^#define SANDLOT_VERSION "(.*)"$', HEADER.read_text(), re.M).group(1)


def _metadata():
    return (
        f"Metadata-Version: 2.1\nName: sandlot\nVersion: {_version()}\nRequires-Python: >=3.11\nLicense: MIT\n"
        "Summary: Run commands and edit files in sandboxes, over any provider\n"
        "Description-Content-Type: text/markdown\n\n" + (HERE / "README.md").read_text()
    )


def _modules():
    return sorted(path for path in (HERE / "sandlot").iterdir() if path.suffix == ".py" or path.name == "py.typed")


def _entry_points():
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    text = ""
    for group, points in project["entry-points"].items():
        text += f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in points.items())
    return text


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel and returns its name."""
    name = f"sandlot-{_version()}-py3-none-any.whl"
    info = f"sandlot-{_version()}.dist-info"
    record = []
    with zipfile.ZipFile(pathlib.Path(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:

        def add(path, content):
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(content)}\n")
            wheel.writestr(zipfile.ZipInfo(path), content)

        for module in _modules():
            add(f"sandlot/{module.name}", module.read_bytes())
        add(f"{info}/METADATA", _metadata().encode())
        add(f"{info}/entry_points.txt", _entry_points().encode())
        add(f"{info}/WHEEL", b"Wheel-Version: 1.0\nGenerator: sandlot\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(zipfile.ZipInfo(f"{info}/RECORD"), "".join(record) + f"{info}/RECORD,,\n")
    return name


def build_sdist(sdist_directory, config_settings=None):
    """Writes the source archive and returns its name."""
    top = f"sandlot-{_version()}"
    told = HERE / "PKG-INFO"
    with tarfile.open(pathlib.Path(sdist_directory, f"{top}.tar.gz"), "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path in [HERE / "pyproject.toml", HERE / "build_backend.py", HERE / "README.md", *_modules()]:
            archive.add(path, f"{top}/{path.relative_to(HERE)}")
        content = told.read_bytes() if told.exists() else _metadata().encode()
        entry = tarfile.TarInfo(f"{top}/PKG-INFO")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return f"{top}.tar.gz"
