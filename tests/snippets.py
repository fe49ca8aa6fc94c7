#!/usr/bin/env python3
"""Runs the snippets of README.md and docs/ as a reader would: `snippets.py [--only rust,c,python,node] [--python PYTHON] …`.

A feature is a heading with a ```text block, the output, and a snippet each in ```rust, ```c, ```python and ```js. A page of
docs/ also has a ```json block before them, the model (model.json), and may have a ```py block, a program (server.py). Each
snippet is put behind its language's block in docs/snippets.md and run in a folder that has these files. The snippets of README.md
are whole programs: there the name of the model is replaced by a scripted model. All four languages must print the output.

It needs a built checkout: the C library in target/stage, the Python package in target/python-venv, the Node package in
examples/node/node_modules. The Rust snippets become one program, built here with the workspace's lock and profile `ci`.

A line per snippet; the last one counts: N passed, N failed, N skipped. Skipped are the languages that --only leaves out.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
# The pages whose snippets are run, and those that have fragments: some lines, without an output.
NAMES = """events state tools steering abort limits limiter budgets hooks tool-hooks model-hooks turn-hooks middleware
custom-provider stateless stepping testing recipes input output context subagents mcp builtin-tools ui approvals gate recording
sessions transcripts"""
PAGES = [ROOT / "docs" / f"{name}.md" for name in NAMES.split()]
FRAGMENT_NAMES = "abi install journal logs mcp-sign-in models network providers scale sign-in traces"
FRAGMENTS = [ROOT / "docs" / f"{name}.md" for name in FRAGMENT_NAMES.split()]
# The programs that need packages of others, which bindings/python/tests-servers and tests/node run.
INTEGRATIONS = [ROOT / "docs" / f"{name}.md" for name in "integrations web-approvals web-sessions".split()]
BEGIN_PAGE = ROOT / "docs/snippets.md"
# What the README's programs name, and the model that answers in its place.
NAMED_MODEL = re.compile(r"""["']anthropic/claude-sonnet-4-5["']""")
SCRIPTED = {
    "provider": "scripted",
    "id": "readme",
    "script": [
        [{"delta": {"tool_call": {"name": "weather", "arguments": {"city": "Oslo"}}}}, {"end": "tool_use"}],
        [{"delta": "Yes, it rains."}, {"end": "stop"}],
    ],
}
LANGUAGES = {"rust": "rust", "c": "c", "python": "python", "js": "node"}
SECONDS = 30


@dataclass
class Feature:
    """The blocks under one heading of a page."""

    page: Path
    title: str
    model: str = ""
    server: str = ""
    output: str = ""
    snippets: dict[str, str] = field(default_factory=dict)

    @property
    def slug(self):
        return re.sub(r"\W+", "_", self.title.lower()).strip("_")

    @property
    def is_program(self):
        """Whether its snippets are whole programs."""
        return self.page == README

    def missing(self):
        """The languages and blocks that the page does not have here."""
        missing = [language for language in LANGUAGES.values() if language not in self.snippets]
        blocks = ["output"] if self.is_program else ["model", "output"]
        return missing + [name for name in blocks if not getattr(self, name)]

    def source(self, language, begin):
        """The program of a snippet."""
        if self.is_program:
            scripted = json.dumps(json.dumps(SCRIPTED))
            return NAMED_MODEL.sub(lambda _: scripted, self.snippets[language])
        return begin + self.snippets[language]


def read(page):
    """The features of a page."""
    features, fence, lines = [Feature(page, "")], None, []
    for line in page.read_text().splitlines():
        if fence is None and (heading := re.fullmatch(r"#+ (.*)", line)):
            features.append(Feature(page, heading[1]))
        elif fence is None and (opened := re.fullmatch(r"```(\w*)", line)):
            fence, lines = opened[1], []
        elif line == "```":
            take(features[-1], fence, "".join(f"{line}\n" for line in lines))
            fence = None
        elif fence is not None:
            lines.append(line)
    return [feature for feature in features if feature.snippets]


def take(feature, fence, text):
    if fence in LANGUAGES:
        language = LANGUAGES[fence]
        if language in feature.snippets:
            raise SystemExit(f"{feature.page.name}: {feature.title}: there are two snippets in {language}")
        feature.snippets[language] = text
    elif fence == "json":
        feature.model = text
    elif fence == "py":
        feature.server = text
    elif fence == "text":
        feature.output = text


# ---- the languages: each makes the command that runs a feature's snippet, or raises with the output of the compiler -----------


class Failed(Exception):
    """A command failed; the text is its output."""


def quietly(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode:
        raise Failed(done.stdout)


def there(path):
    if not path.exists():
        raise Failed(f"there is no {path}; build it, or give its place as an option")
    return path.absolute()


class Python:
    def __init__(self, options, begin, _features):
        self.python, self.begin = there(options.python), begin

    def command(self, feature, folder):
        (folder / "snippet.py").write_text(feature.source("python", self.begin))
        return [self.python, "snippet.py"]


class Node:
    def __init__(self, options, begin, _features):
        self.begin = begin
        packages = options.work / "node_modules"
        packages.mkdir()
        (packages / "agent-loop").symlink_to(there(options.node_package), target_is_directory=True)

    def command(self, feature, folder):
        (folder / "snippet.mjs").write_text(feature.source("node", self.begin))
        return ["node", "snippet.mjs"]


class C:
    def __init__(self, options, begin, _features):
        self.stage, self.begin = there(options.stage), begin

    def command(self, feature, folder):
        (folder / "snippet.c").write_text(feature.source("c", self.begin))
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
agent-loop = {{ path = "{core}", features = ["schema", "store", "ui", "mcp", "tools"] }}
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
        named = [re.search(rf"^{name} = .*$", workspace, re.M)[0] for name in ("schemars", "serde", "serde_json", "tokio")]
        profiles = re.search(r"^\[profile\.ci\].*", workspace, re.M | re.S)[0]
        manifest = self.MANIFEST.format(
            core=ROOT / "core", unify=ROOT / "tests/unify", dependencies="\n".join(named), profiles=profiles
        )
        (crate / "Cargo.toml").write_text(manifest)
        shutil.copy(ROOT / "Cargo.lock", crate)
        features = [feature for feature in features if "rust" in feature.snippets]
        # Not every snippet uses all of the common block.
        main = "#![allow(unused_imports, dead_code)]\n\n"
        for feature in features:
            text = feature.source("rust", begin) + "\npub fn start() {\n    main().unwrap();\n}\n"
            (crate / f"src/{feature.slug}.rs").write_text(text)
            main += f"mod {feature.slug};\n"
        arms = "".join(f'        "{feature.slug}" => {feature.slug}::start(),\n' for feature in features)
        main += f"\nfn main() {{\n    match std::env::args().nth(1).unwrap().as_str() {{\n{arms}        _ => panic!(),\n"
        main += "    }\n}\n"
        (crate / "src/main.rs").write_text(main)
        target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
        cargo = ["cargo", "build", "--quiet", "--offline", "--profile", "ci", "--target-dir", target]
        quietly([*cargo, "--manifest-path", crate / "Cargo.toml"])
        self.program = target / "ci/snippets"

    def command(self, feature, _folder):
        return [self.program, feature.slug]


MAKERS = {"rust": Rust, "c": C, "python": Python, "node": Node}


def run(maker, feature, folder):
    """Runs a snippet; returns what is wrong, or None."""
    folder.mkdir(parents=True)
    (folder / "model.json").write_text(feature.model)
    (folder / "server.py").write_text(feature.server)
    try:
        command = maker.command(feature, folder)
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    except Failed as failed:
        return str(failed)
    except subprocess.TimeoutExpired as expired:
        output = "".join(part.decode(errors="replace") for part in (expired.stdout, expired.stderr) if part)
        return f"it was still running after {SECONDS} s\n{output}"
    if done.returncode:
        return f"it ended with {done.returncode}\n{done.stdout}{done.stderr}"
    if done.stdout != feature.output or done.stderr:
        return f"expected\n{feature.output}got\n{done.stdout}{done.stderr}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(MAKERS), help="languages, of rust,c,python,node")
    python = ROOT / "target/python-venv/bin/python"
    node_package = ROOT / "examples/node/node_modules/agent-loop"
    parser.add_argument("--python", type=Path, default=python, help="the interpreter that has agent_loop")
    parser.add_argument("--stage", type=Path, default=ROOT / "target/stage", help="the prefix of the C library")
    parser.add_argument("--node-package", type=Path, default=node_package, help="the Node package")
    parser.add_argument("--feature", default="", help="only features whose heading contains this")
    options = parser.parse_args()
    only = options.only.split(",")
    if unknown := [name for name in only if name not in MAKERS]:
        parser.error(f"--only: there is no {unknown[0]!r}; choose of {', '.join(MAKERS)}")
    options.work = ROOT / "target/snippets"
    shutil.rmtree(options.work, ignore_errors=True)
    options.work.mkdir(parents=True)

    counts = {"passed": 0, "failed": 0, "skipped": 0}

    def report(name, wrong):
        counts["failed" if wrong else "passed"] += 1
        print(f"  {'FAILED' if wrong else 'ok    '} {name}", flush=True)
        if wrong:
            print("".join(f"    {line}\n" for line in wrong.splitlines()), end="", flush=True)

    drawing = subprocess.run([sys.executable, ROOT / "docs/draw.py", "--check"], stdout=subprocess.PIPE, text=True, check=False)
    report("the picture", drawing.stdout if drawing.returncode else None)
    for page in sorted((ROOT / "docs").glob("*.md")):
        if page not in [*PAGES, *FRAGMENTS, *INTEGRATIONS, BEGIN_PAGE] and read(page):
            report(page.name, "it has snippets and is in no list of this script")
    [common] = read(BEGIN_PAGE)
    features = [feature for page in [README, *PAGES] for feature in read(page)]
    features = [feature for feature in features if options.feature.lower() in feature.title.lower()]
    slugs = [feature.slug for feature in features]
    for feature in features:
        if missing := feature.missing():
            report(feature.title, f"{feature.page.name} lacks: {', '.join(missing)}")
        if slugs.count(feature.slug) > 1:
            report(feature.title, f"{feature.page.name}: the heading exists twice")
    for name, maker in MAKERS.items():
        snippets = [feature for feature in features if name in feature.snippets]
        if name not in only:
            counts["skipped"] += len(snippets)
            continue
        try:
            made = maker(options, common.snippets.get(name, ""), features)
        except (Failed, OSError) as failed:
            report(f"{name}: all", str(failed))
            continue
        for feature in snippets:
            report(f"{name}: {feature.title}", run(made, feature, options.work / name / feature.slug))
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not features else 0


if __name__ == "__main__":
    sys.exit(main())
