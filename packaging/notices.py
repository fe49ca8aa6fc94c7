#!/usr/bin/env python3
"""The licences of the crates that our packages contain: notices.py writes THIRD-PARTY-NOTICES.txt, notices.py --check compares.

Each text stands once, with the crates that it is of. Of a crate under several licences to choose from, the text is that of the
first of CHOICE that it has. --check compares the crates alone, and needs nothing but cargo.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOTICES = ROOT / "THIRD-PARTY-NOTICES.txt"
PACKAGES = "agent-loop-ffi", "agent-loop-python", "agent-loop-node"
CHOICE = "MIT", "Apache-2.0", "BSD-3-Clause", "ISC", "Zlib", "Unicode-3.0", "CDLA-Permissive-2.0", "0BSD", "Unlicense"
# In the files' names or texts.
MARKS = {"MIT": ("mit",), "Apache-2.0": ("apache",), "Unlicense": ("unlicense",), "Zlib": ("zlib",), "BSD-3-Clause": ("bsd",)}
LICENCE_FILE = re.compile(r"^(licen[cs]e|copying|notice|unlicense)", re.IGNORECASE)
# What a crate contains that is not under its licence: how it is named, and its notice.
CONTAINED = {
    "libsqlite3-sys": ("SQLite (public domain)", "The authors of SQLite have dedicated its code to the public domain:\n"
                       "https://sqlite.org/copyright.html"),
}
# The same where the notice is a file of it.
CONTAINED_FILES = {"libdbus-sys": ("libdbus (AFL-2.1 OR GPL-2.0-or-later)", "vendor/dbus/COPYING")}
# Named by cargo's metadata as part of a feature `vendored`, and asked for by none that is on.
UNUSED = "openssl", "openssl-sys", "foreign-types", "foreign-types-shared"
# A package without a file, and one of the same author, with the same licence, that has it.
SAME = {"clipboard-win": "error-code"}
# Where a package has no file: the licence's own text, with the names of its authors.
MIT = """\
Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy,
modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software
is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES
OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE
LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."""


def cargo(*arguments):
    return subprocess.run(["cargo", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def crates():
    """The crates that are linked into one of our packages on some system: (name, version) in order."""
    metadata = json.loads(cargo("metadata", "--locked", "--format-version", "1"))
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    open_ids = [package["id"] for package in metadata["packages"] if package["name"] in PACKAGES]
    linked = set()
    while open_ids:
        id = open_ids.pop()
        macro = any("proc-macro" in target["kind"] for target in packages[id]["targets"])
        if id in linked or macro:
            continue
        linked.add(id)
        open_ids += [dependency["pkg"] for dependency in nodes[id]["deps"]
                     if any(kind["kind"] is None for kind in dependency["dep_kinds"])]
    others = [packages[id] for id in linked if packages[id]["source"] and packages[id]["name"] not in UNUSED]
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def texts(package, others):
    """The licence texts of a package: those of the licence chosen, else all there are."""
    folder = Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.is_file() and LICENCE_FILE.match(path.name))
    if package["license_file"] and (own := folder / package["license_file"]) not in files:
        files.append(own)
    words = package["license"] or ""
    chosen = next((name for name in CHOICE if name in words), None)
    if re.search(r"\bOR\b|/", words) and chosen in MARKS:
        of_choice = [path for path in files if any(mark in path.name.lower() for mark in MARKS[chosen])]
        files = of_choice + [path for path in files if "notice" in path.name.lower()] if of_choice else files
    found = [path.read_text(encoding="utf-8", errors="replace") for path in files]
    if not found:
        if package["name"] in SAME:
            return texts(next(other for other in others if other["name"] == SAME[package["name"]]), others)
        if "MIT" not in words and "Apache-2.0" in words:
            # The licence's text is the same for all, and has no names.
            return [(ROOT / "LICENSE-APACHE").read_text(encoding="utf-8").strip()]
        if "MIT" not in words:
            raise SystemExit(f"{package['name']} {package['version']} ({words}) has no licence file: add its text here")
        authors = ", ".join(re.sub(" *<.*", "", name) for name in package["authors"]) or package["name"]
        found = [f"Copyright (c) {authors}\n\n{MIT}"]
    return [text.strip() for text in found]


def line(package):
    return f"{package['name']} {package['version']} ({package['license']})"


def listed():
    """The crates that THIRD-PARTY-NOTICES.txt names."""
    return set(re.findall(r"^- (.*)$", NOTICES.read_text(encoding="utf-8"), re.MULTILINE)) if NOTICES.exists() else set()


def contained(package):
    """What a package contains that is not under its licence: its name and its notice."""
    if package["name"] in CONTAINED_FILES:
        name, path = CONTAINED_FILES[package["name"]]
        return [(name, (Path(package["manifest_path"]).parent / path).read_text(encoding="utf-8").strip())]
    return [CONTAINED[package["name"]]] if package["name"] in CONTAINED else []


def write(packages):
    groups = {}
    for package in packages:
        found = [(line(package), text) for text in texts(package, packages)]
        found += contained(package)
        for name, text in found:
            key = re.sub(r"\W+", " ", text).lower()
            groups.setdefault(key, (text, []))[1].append(name)
    parts = ["agent-loop contains the following crates, under these licences. packaging/notices.py has written this file."]
    for text, names in sorted(groups.values(), key=lambda group: group[1]):
        parts.append("\n".join(f"- {name}" for name in names) + "\n\n" + text)
    NOTICES.write_text(("\n\n" + "-" * 80 + "\n\n").join(parts) + "\n", encoding="utf-8")


def main(arguments):
    packages = crates()
    if arguments != ["--check"]:
        return write(packages)
    others = {name for package in packages for name, _ in contained(package)}
    wanted, found = {line(package) for package in packages} | others, listed()
    for name in sorted(wanted ^ found):
        print(f"THIRD-PARTY-NOTICES.txt {'names' if name in found else 'does not name'} {name}")
    return "run: python3 packaging/notices.py" if wanted != found else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
