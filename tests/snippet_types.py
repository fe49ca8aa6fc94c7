#!/usr/bin/env python3
"""Type-checks the snippets of the documentation and the examples: `snippet_types.py [--only python,node] [--python PYTHON] …`.

Python: README.md, docs/, the package's README and its docstrings, and examples/python, by mypy --strict and pyright.
JavaScript and TypeScript: the same of Node, by tsc with every check of `strict`, JavaScript by its comments (checkJs).

The snippets that tests/snippets.py runs stand behind their language's block in docs/snippets.md, here too. Of the others, one
that imports the package is a program, and one that does not is some lines of a program that is declared here. Packages of others
are not read, so that they need not be installed: what comes from them has no type. It needs a built checkout, as
tests/snippets.py does.

Prints each error with its place in the documentation; the last line counts snippets and examples, those that failed by their
errors. Ends with 1 if there is one.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

from snippets import BEGIN_PAGE as COMMON
from snippets import INTEGRATIONS as OTHER_PACKAGES
from snippets import PAGES as CONTINUED

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted(ROOT.glob("bindings/*/README.md"))]
# A page with whole programs for one language, beside the snippets for all of them.
WITH_PROGRAMS = [ROOT / "docs/tools.md"]
FENCE = re.compile(r"( *(?:\* )?)```(\w*)$")

# What snippets of some lines use without a word about it.
PYTHON_NAMES = """
import agent_loop
from typing import Annotated

agent = agent_loop.Agent(MODEL)
history: list[Message] = []
messages: list[Message] = []
model = "anthropic/claude-sonnet-4-5"


class Vault:
    async def token_for(self, provider: str) -> str:
        return provider


vault = Vault()
"""
NODE_NAMES = """import { calculator, messages, saved, show, vault, weather, model } from './names.mjs'
import { Agent, Store, complete, fromCanonical, models, replay, run, tool, transcript } from 'agent-loop'
import { checkEvents } from 'agent-loop/testing'
import type { CanonicalEvent } from 'agent-loop'
declare const agent: Agent
"""
NODE_DECLARATIONS = """import type { Message, Tool } from 'agent-loop'
export declare const calculator: Tool, weather: Tool
export declare const messages: Message[], saved: Message[]
export declare const model: string
export declare const vault: { tokenFor(provider: string): Promise<string> }
export declare function show(text: string): void
declare global {
  const source: EventSource
  const page: HTMLElement
}
"""
# The messages of the application's own that a page uses, declared as a TypeScript program declares them.
NODE_CUSTOM = {"model-hooks.md": "pause: { role: 'pause'; hours: number }"}
# Nothing is known of these packages here.
PYTHON_OTHERS = ["fastapi", "mcp", "opentelemetry", "pydantic"]
NODE_OTHERS = ["@modelcontextprotocol/*", "@opentelemetry/*", "express"]

# What another package's class or decorator makes is unknown, as all of that package is.
MYPY = ["--strict", "--no-error-summary", "--allow-untyped-decorators", "--allow-subclassing-any"]
PYRIGHT = {"reportMissingImports": False, "reportWildcardImportFromLibrary": False, "typeCheckingMode": "standard"}
TSC = {
    "target": "ES2022",
    "lib": ["ES2023", "DOM"],
    "module": "NodeNext",
    "types": ["node"],
    "noEmit": True,
    "allowJs": True,
    "checkJs": True,
    "strict": True,
    "exactOptionalPropertyTypes": True,
}


@dataclass
class Snippet:
    """A block of code in a file."""

    file: Path
    line: int
    language: str
    text: str

    @property
    def name(self):
        return re.sub(r"\W+", "_", f"{self.file.relative_to(ROOT).with_suffix('')}_{self.line}")

    @property
    def is_program(self):
        """Whether it imports what it uses."""
        return re.search(r"^(from|import)\b.*\bagent[_-]loop\b", self.text, re.M) is not None


def read(file):
    """The blocks of code of a file, also in comments and docstrings."""
    opened, lines = None, []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        fence = FENCE.fullmatch(line)
        if opened is None and fence:
            opened, lines = (number, *fence.groups()), []
        elif fence and not fence[2]:
            yield Snippet(file, opened[0], opened[2], "".join(f"{line}\n" for line in lines))
            opened = None
        elif opened:
            # In a docstring quotes are escaped.
            line = line.removeprefix(opened[1]) if line.strip() != "*" else ""
            lines.append(line.replace('\\"', '"') if file.suffix == ".py" else line)


def snippets(files, languages):
    return [snippet for file in files for snippet in read(file) if snippet.language in languages]


def written(folder, snippets, program):
    """Writes each snippet as the program that `program` makes of it: {file name: (snippet, its first line)}."""
    places = {}
    for snippet in snippets:
        name, text = program(snippet)
        marker = text.index("<snippet>\n")
        (folder / name).write_text(text.replace("<snippet>\n", "", 1), encoding="utf-8")
        places[name] = (snippet, text[:marker].count("\n"))
    return places


def mapped(output, places):
    """The lines of a checker's output that name a place, with the place in the documentation."""
    errors = []
    for line in output.splitlines():
        found = re.match(r"\s*(?:\S*/)?([\w-]+\.\w+)[:(](\d+)[^ ]*[: -]*(.*)", line)
        if found and found[1] in places:
            snippet, before = places[found[1]]
            line = int(found[2]) - before
            place = f"{snippet.file.relative_to(ROOT)}:{snippet.line + line}" if line > 0 else "before the snippets"
            errors.append(f"{place}: {found[3]}")
        elif found or line.startswith("error"):
            errors.append(line)
    return list(dict.fromkeys(errors))


def run(command, cwd):
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def empty(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def common(language):
    [snippet] = [snippet for snippet in read(COMMON) if snippet.language == language]
    return snippet.text


def check_python(options):
    """Checks all Python code; returns how many pieces, and the errors."""
    folder, begin = empty(options.work / "python"), common("python")
    sources = sorted((ROOT / "bindings/python/python/agent_loop").glob("*.py*"))
    found = snippets([*PAGES, *sources], ["python"]) + snippets(WITH_PROGRAMS, ["py"])

    def program(snippet):
        text = "<snippet>\n" + snippet.text
        if snippet.language == "py":
            pass  # a whole program
        elif snippet.file in CONTINUED:
            text = begin + text
        elif snippet.file in sources or not snippet.is_program:
            # Some lines, which may await.
            lines = textwrap.indent(PYTHON_NAMES + text, "    ").replace("    <snippet>", "<snippet>")
            text = f"{begin}\n\nasync def fragment() -> None:\n{lines}"
        return f"{snippet.name}.py", text

    places = written(folder, found, program)
    examples = sorted((ROOT / "examples/python").glob("*.py"))
    for example in examples:
        shutil.copy(example, folder / f"example_{example.name}")
    skipped = "follow_imports = skip\nignore_missing_imports = True\n"
    (folder / "mypy.ini").write_text("[mypy]\n" + "".join(f"[mypy-{name}.*]\n{skipped}" for name in PYTHON_OTHERS))
    (folder / "pyrightconfig.json").write_text(json.dumps(PYRIGHT))
    errors = []
    for checker in (["mypy", *MYPY, "."], ["pyright", "--pythonpath", options.python, "--level", "error"]):
        status, output = run([options.python, "-m", *checker], folder)
        named = mapped(output, places)
        errors += [f"{checker[0]}: {error}" for error in named]
        if status and not named:
            errors.append(f"{checker[0]}: {output}")
    return len(found) + len(examples), errors


def check_node(options):
    """Checks all JavaScript and TypeScript; returns how many pieces, and the errors."""
    folder, begin = empty(options.work / "node"), common("js")
    (folder / "package.json").write_text('{ "type": "module" }')
    packages = folder / "node_modules"
    (packages / "@types").mkdir(parents=True)
    installed = ROOT / "bindings/node/node_modules"
    (packages / "agent-loop").symlink_to(options.node_package.resolve())
    for name in ("@types/node", "undici-types", "@restatedev", "zod"):
        (packages / name).symlink_to(installed / name)
    sources = sorted((ROOT / "bindings/node/lib").glob("*.ts"))
    found = snippets([*PAGES, *sources], ["js", "ts"])

    def program(snippet):
        text, extension = "<snippet>\n" + snippet.text, "mts"
        if snippet.language == "js" and (snippet.file in CONTINUED or snippet.is_program):
            extension = "mjs"
        if snippet.language == "js" and snippet.file in CONTINUED:
            text = begin + text
        elif "declare module" in snippet.text:
            text = "import 'agent-loop'\n" + text
        elif not snippet.is_program:
            text = f"{NODE_NAMES}{{\n{text}}}\n"
        return f"{snippet.name}.{extension}", text

    places = written(folder, found, program)
    examples = sorted((ROOT / "examples/node").glob("*.mjs"))
    for example in examples:
        shutil.copy(example, folder / f"example_{example.name}")
    (folder / "names.mts").write_text(NODE_DECLARATIONS)
    (folder / "others.d.ts").write_text("".join(f"declare module '{name}'\n" for name in NODE_OTHERS))
    alone = {name: NODE_CUSTOM[snippet.file.name] for name, (snippet, _) in places.items() if snippet.file.name in NODE_CUSTOM}
    for name, custom in alone.items():
        text = f"export {{}}\ndeclare module 'agent-loop' {{\n  interface CustomMessages {{ {custom} }}\n}}\n"
        (folder / f"{name}.d.mts").write_text(text)
    rest = [file.name for file in folder.glob("*.*ts")] + [file.name for file in folder.glob("*.mjs")]
    # Each snippet that extends the types for itself, those with types of other packages, and all the others. The types of
    # Restate's SDK are installed, but are not written for every check.
    others = [name for name, (snippet, _) in places.items() if snippet.file in OTHER_PACKAGES]
    extending = [name for name, (snippet, _) in places.items() if "declare module" in snippet.text]
    on_restate = [name for name, (snippet, _) in places.items() if "agent-loop/restate" in snippet.text]
    apart = {*alone, *(f"{name}.d.mts" for name in alone), *others, *extending, *on_restate}
    projects = [[name for name in rest if name not in apart], *([name, f"{name}.d.mts"] for name in alone)]
    projects += [*([name] for name in extending), on_restate]
    errors = []
    for number, files in enumerate([*projects, [*others, "others.d.ts"]]):
        # A parameter's type may come from a package that is not read.
        checks = {"noImplicitAny": others[0] not in files, "skipLibCheck": files is on_restate}
        config = {"compilerOptions": TSC | checks, "files": files}
        (folder / f"tsconfig.{number}.json").write_text(json.dumps(config, indent=2))
        status, output = run(["node", installed / "typescript/bin/tsc", "--project", f"tsconfig.{number}.json"], folder)
        named = mapped(output, places)
        errors += [f"tsc: {error}" for error in named]
        if status and not named:
            errors.append(f"tsc: {output}")
    return len(found) + len(examples), errors


CHECKS = {"python": check_python, "node": check_node}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(CHECKS), help="languages, of python,node")
    python = ROOT / "target/python-venv/bin/python"
    node_package = ROOT / "examples/node/node_modules/agent-loop"
    parser.add_argument("--python", type=Path, default=python, help="the interpreter that has agent_loop, mypy and pyright")
    parser.add_argument("--node-package", type=Path, default=node_package, help="the Node package")
    options = parser.parse_args()
    options.work = ROOT / "target/snippet-types"
    only = options.only.split(",")
    if unknown := [name for name in only if name not in CHECKS]:
        parser.error(f"--only: there is no {unknown[0]!r}; choose of {', '.join(CHECKS)}")
    passed = failed = 0
    for name in only:
        count, errors = CHECKS[name](options)
        print("".join(f"{error}\n" for error in errors), end="")
        print(f"{name}: {count} snippets and examples, {len(errors)} errors", flush=True)
        wrong = min(len(errors), count)
        passed, failed = passed + count - wrong, failed + wrong
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
