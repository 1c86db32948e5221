"""Makes packages that only tests have, each called sandlot-sample, as the indexes of their managers hold them.

    sample_packages.py FOLDER NPM_ADDRESS [WHEEL_ADDRESS]

FOLDER/simple/sandlot-sample has a wheel and "index", which names it below WHEEL_ADDRESS (none: beside the index); FOLDER/npm a package, and "lock",
a package-lock.json that takes it from below NPM_ADDRESS; FOLDER/crates and FOLDER/crates-index one for cargo; FOLDER/go one for go, of the module
example.org/sample.
"""

import base64
import hashlib
import io
import json
import os
import sys
import tarfile
import zipfile

folder, npm_address = sys.argv[1:3]
wheel_address = sys.argv[3] if len(sys.argv) > 3 else ""
CRATE = '[package]\nname = "sandlot-sample"\nversion = "1.0.0"\nedition = "2018"\n'
MODULE = "module example.org/sample\n"


def write(path, data):
    path = os.path.join(folder, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)


def archive(entries):
    """A tar.gz."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as made:
        for name, text in entries.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            made.addfile(entry, io.BytesIO(text.encode()))
    return data.getvalue()


def zipped(entries):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as made:
        for name, text in entries.items():
            made.writestr(name, text)
    return data.getvalue()


def python():
    wheel = "sandlot_sample-1.0-py3-none-any.whl"
    entries = {"sandlot_sample.py": "print('the wheel')\n",
               "sandlot_sample-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
               "sandlot_sample-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: sandlot-sample\nVersion: 1.0\n"}
    record = "sandlot_sample-1.0.dist-info/RECORD"
    entries[record] = "".join(f"{name},,\n" for name in [*entries, record])
    write(f"simple/sandlot-sample/{wheel}", zipped(entries))
    write("simple/sandlot-sample/index", f'<!DOCTYPE html><html><body><a href="{wheel_address}{wheel}">{wheel}</a></body></html>')


def npm():
    package = archive({"package/package.json": '{"name":"sandlot-sample","version":"1.0.0","main":"index.js"}',
                       "package/index.js": "console.log('the package');\n"})
    digest = "sha512-" + base64.b64encode(hashlib.sha512(package).digest()).decode()
    write("npm/sandlot-sample-1.0.0.tgz", package)
    write("npm/lock", json.dumps({"name": "x", "version": "1.0.0", "lockfileVersion": 3, "packages": {
        "": {"name": "x", "version": "1.0.0", "dependencies": {"sandlot-sample": "1.0.0"}},
        "node_modules/sandlot-sample": {"version": "1.0.0", "resolved": npm_address + "sandlot-sample-1.0.0.tgz", "integrity": digest}}}))


def cargo():
    crate = archive({"sandlot-sample-1.0.0/Cargo.toml": CRATE, "sandlot-sample-1.0.0/src/lib.rs": "pub fn sample() {}\n"})
    write("crates/sandlot-sample/1.0.0/download", crate)
    write("crates-index/config.json", json.dumps({"dl": "https://static.crates.io/crates", "api": "https://crates.io"}))
    write("crates-index/sa/nd/sandlot-sample", json.dumps({"name": "sandlot-sample", "vers": "1.0.0", "deps": [], "features": {},
                                                          "cksum": hashlib.sha256(crate).hexdigest(), "yanked": False}) + "\n")


def go():
    place = "go/example.org/sample/@v/"
    write(place + "list", "v1.0.0\n")
    write(place + "v1.0.0.info", '{"Version":"v1.0.0","Time":"2024-01-01T00:00:00Z"}')
    write(place + "v1.0.0.mod", MODULE)
    write(place + "v1.0.0.zip", zipped({"example.org/sample@v1.0.0/go.mod": MODULE, "example.org/sample@v1.0.0/sample.go": "package sample\n"}))


python()
npm()
cargo()
go()
