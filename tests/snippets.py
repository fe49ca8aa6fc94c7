#!/usr/bin/env python3
"""Runs the snippets of docs/loop.md as a reader would: `snippets.py [--only rust,c,python,node] [--python PYTHON] …`.

Under a heading of the page stand a ```json block, the model (model.json); a ```text block, the output; and a snippet each in
```rust, ```c, ```python and ```js. Each snippet is put behind its language's block under the heading "Each snippet begins with",
and run in a folder that has model.json. What it prints must be the output, in all four languages.

It needs a built checkout: the C library in target/stage, the Python package in target/python-venv, the Node package in
examples/node/node_modules. The Rust snippets become one program, built here with the workspace's lock and profile `ci`.

A line per snippet; the last one counts: N passed, N failed, N skipped. Skipped are the languages that --only leaves out.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/loop.md"
BEGIN = "Each snippet begins with"
LANGUAGES = {"rust": "rust", "c": "c", "python": "python", "js": "node"}
SECONDS = 30


@dataclass
class Feature:
    """What stands under one heading of the page."""

    title: str
    model: str = ""
    output: str = ""
    snippets: dict[str, str] = field(default_factory=dict)

    @property
    def slug(self):
        return re.sub(r"\W+", "_", self.title.lower()).strip("_")

    def check(self):
        """What the page lacks here."""
        lacks = [language for language in LANGUAGES.values() if language not in self.snippets]
        lacks += [name for name in ("model", "output") if not getattr(self, name)]
        return lacks


def read(page):
    """The blocks to begin with, by language, and the features."""
    features, fence, lines = [Feature("")], None, []
    for line in page.splitlines():
        if fence is None and (heading := re.fullmatch(r"#+ (.*)", line)):
            features.append(Feature(heading[1]))
        elif fence is None and (opened := re.fullmatch(r"```(\w*)", line)):
            fence, lines = opened[1], []
        elif line == "```":
            take(features[-1], fence, "".join(f"{line}\n" for line in lines))
            fence = None
        elif fence is not None:
            lines.append(line)
    features = [feature for feature in features if feature.snippets]
    begin = {}
    for feature in features:
        if feature.title == BEGIN:
            begin = feature.snippets
    return begin, [feature for feature in features if feature.title != BEGIN]


def take(feature, fence, text):
    if fence in LANGUAGES:
        language = LANGUAGES[fence]
        if language in feature.snippets:
            raise SystemExit(f"{PAGE.name}: {feature.title}: there are two snippets in {language}")
        feature.snippets[language] = text
    elif fence == "json":
        feature.model = text
    elif fence == "text":
        feature.output = text


# ---- the languages: each makes the command that runs a feature's snippet, or gives what a compiler said ---------------------


class Failed(Exception):
    """What went wrong, for a person."""


def quietly(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode:
        raise Failed(done.stdout)


def there(path):
    if not path.exists():
        raise Failed(f"there is no {path}; build it, or say where it is")
    return path.absolute()


class Python:
    def __init__(self, options, begin, _features):
        self.python, self.begin = there(options.python), begin

    def command(self, feature, folder):
        (folder / "snippet.py").write_text(self.begin + feature.snippets["python"])
        return [self.python, "snippet.py"]


class Node:
    def __init__(self, options, begin, _features):
        self.begin = begin
        packages = options.work / "node_modules"
        packages.mkdir()
        (packages / "agent-loop").symlink_to(there(options.node_package), target_is_directory=True)

    def command(self, feature, folder):
        (folder / "snippet.mjs").write_text(self.begin + feature.snippets["node"])
        return ["node", "snippet.mjs"]


class C:
    def __init__(self, options, begin, _features):
        self.stage, self.begin = there(options.stage), begin

    def command(self, feature, folder):
        (folder / "snippet.c").write_text(self.begin + feature.snippets["c"])
        lib = self.stage / "lib"
        compiler = [os.environ.get("CC", "cc"), "-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{self.stage / 'include'}"]
        quietly([*compiler, "snippet.c", f"-L{lib}", f"-Wl,-rpath,{lib}", "-lagent", "-o", "snippet"], cwd=folder)
        return ["./snippet"]


class Rust:
    """All snippets are modules of one program, which costs one compilation and one link."""

    MANIFEST = """[package]
name = "snippets"
version = "0.0.0"
edition = "2024"
publish = false

[workspace]

[dependencies]
agent-loop = {{ path = "{core}" }}
# Built once for this and for the tests.
agent-loop-unify = {{ path = "{unify}" }}
{dependencies}

{profiles}
[profile.ci.package.snippets]
opt-level = 0
"""

    def __init__(self, options, begin, features):
        crate = options.work / "rust"
        (crate / "src").mkdir(parents=True)
        workspace = (ROOT / "Cargo.toml").read_text()
        named = [re.search(rf"^{name} = .*$", workspace, re.M)[0] for name in ("serde_json", "tokio")]
        profiles = re.search(r"^\[profile\.ci\].*", workspace, re.M | re.S)[0]
        manifest = self.MANIFEST.format(
            core=ROOT / "core", unify=ROOT / "tests/unify", dependencies="\n".join(named), profiles=profiles
        )
        (crate / "Cargo.toml").write_text(manifest)
        shutil.copy(ROOT / "Cargo.lock", crate)
        features = [feature for feature in features if "rust" in feature.snippets]
        # Not every snippet uses all that they begin with.
        main = "#![allow(unused_imports, dead_code)]\n\n"
        for feature in features:
            text = begin + feature.snippets["rust"] + "\npub fn start() {\n    main().unwrap();\n}\n"
            (crate / f"src/{feature.slug}.rs").write_text(text)
            main += f"mod {feature.slug};\n"
        arms = "".join(f'        "{feature.slug}" => {feature.slug}::start(),\n' for feature in features)
        main += f"\nfn main() {{\n    match std::env::args().nth(1).unwrap().as_str() {{\n{arms}        _ => panic!(),\n    }}\n}}\n"
        (crate / "src/main.rs").write_text(main)
        target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
        cargo = ["cargo", "build", "--quiet", "--offline", "--profile", "ci", "--target-dir", target]
        quietly([*cargo, "--manifest-path", crate / "Cargo.toml"])
        self.program = target / "ci/snippets"

    def command(self, feature, _folder):
        return [self.program, feature.slug]


MAKERS = {"rust": Rust, "c": C, "python": Python, "node": Node}


def run(maker, feature, folder):
    """Nothing, or what is wrong."""
    folder.mkdir(parents=True)
    (folder / "model.json").write_text(feature.model)
    try:
        command = maker.command(feature, folder)
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=SECONDS, check=False)
    except Failed as failed:
        return str(failed)
    except subprocess.TimeoutExpired as expired:
        said = "".join(part.decode(errors="replace") for part in (expired.stdout, expired.stderr) if part)
        return f"it was still running after {SECONDS} s\n{said}"
    if done.returncode:
        return f"it ended with {done.returncode}\n{done.stdout}{done.stderr}"
    if done.stdout != feature.output or done.stderr:
        return f"expected\n{feature.output}got\n{done.stdout}{done.stderr}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(MAKERS), help="languages, of rust,c,python,node")
    parser.add_argument("--python", type=Path, default=ROOT / "target/python-venv/bin/python", help="the interpreter that has agent_loop")
    parser.add_argument("--stage", type=Path, default=ROOT / "target/stage", help="where the C library is installed")
    parser.add_argument("--node-package", type=Path, default=ROOT / "examples/node/node_modules/agent-loop", help="the Node package")
    parser.add_argument("--feature", default="", help="only features whose heading contains this")
    options = parser.parse_args()
    only = options.only.split(",")
    if unknown := [name for name in only if name not in MAKERS]:
        parser.error(f"--only: there is no {unknown[0]!r}; choose of {', '.join(MAKERS)}")
    options.work = ROOT / "target/snippets"
    shutil.rmtree(options.work, ignore_errors=True)
    options.work.mkdir(parents=True)

    counts = {"passed": 0, "failed": 0, "skipped": 0}

    def tell(name, wrong):
        counts["failed" if wrong else "passed"] += 1
        print(f"  {'FAILED' if wrong else 'ok    '} {name}", flush=True)
        if wrong:
            print("".join(f"    {line}\n" for line in wrong.splitlines()), end="", flush=True)

    drawing = subprocess.run([sys.executable, ROOT / "docs/draw.py", "--check"], stdout=subprocess.PIPE, text=True, check=False)
    tell("the picture", drawing.stdout if drawing.returncode else None)
    begin, features = read(PAGE.read_text())
    features = [feature for feature in features if options.feature.lower() in feature.title.lower()]
    for feature in features:
        if lacks := feature.check():
            tell(feature.title, f"{PAGE.name} lacks: {', '.join(lacks)}")
    for name, maker in MAKERS.items():
        snippets = [feature for feature in features if name in feature.snippets]
        if name not in only:
            counts["skipped"] += len(snippets)
            continue
        try:
            made = maker(options, begin.get(name, ""), features)
        except (Failed, OSError) as failed:
            tell(f"{name}: all", str(failed))
            continue
        for feature in snippets:
            tell(f"{name}: {feature.title}", run(made, feature, options.work / name / feature.slug))
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not features else 0


if __name__ == "__main__":
    sys.exit(main())
