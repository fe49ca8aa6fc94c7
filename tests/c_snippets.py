#!/usr/bin/env python3
"""Compiles the C code of the documentation as C99 and as C++17. It needs no build.

It is the snippets of README.md and docs/, the examples in the comments of include/agent.h, and examples/c. Nothing is run;
tests/snippets.py does that. The snippets stand behind the block of docs/snippets.md, here too; some lines stand in a function
that has what they use without a word about it as parameters. No text is put together in a buffer of a fixed size.

Prints each error with its place in the documentation; the last line counts: N passed, N failed, N skipped. Skipped are C++
where there is no compiler for it, and what needs libcurl's header where that is not installed.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER = ROOT / "include/agent.h"
BEGIN_PAGE = ROOT / "docs/snippets.md"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "bindings").glob("*/README.md"))]
INCLUDES = "#include <agent.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
# What some lines use; each file has its own kind of call.
PARAMETERS = """agent_runtime_t *runtime, agent_t *agent, agent_text_t *text, const char *city, agent_model_fn_t parrot,
    {call} *call"""
CALLS = {HEADER: "agent_tool_call_t"}
OTHER_CALL = "agent_hook_call_t"
# A text of a model may have any length, so that a buffer of a fixed one cuts it.
FIXED_BUFFER = re.compile(r"\bchar \w+\[\w+\]|\bsn?printf\(")
# These do the HTTP by hand, in pieces of a fixed size.
BY_HAND = [ROOT / "examples/c" / name for name in ("curl_multi.c", "step.c")]
CURL = "#include <curl/curl.h>\n"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-unused-function", "-Wno-unused-parameter"]


@dataclass
class Block:
    """Some C code of a file."""

    file: Path
    line: int
    text: str

    @property
    def place(self):
        return f"{self.file.relative_to(ROOT)}:{self.line}"


def fenced(file):
    """The C blocks of a page."""
    begun, lines = None, []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if begun is None and line == "```c":
            begun, lines = number + 1, []
        elif begun and line == "```":
            yield Block(file, begun, "".join(lines))
            begun = None
        elif begun:
            lines.append(f"{line}\n")


def indented(header):
    """The examples in a header's comments: what is indented there and has a statement."""
    begun, lines = None, []
    for number, line in enumerate([*header.read_text(encoding="utf-8").splitlines(), ""], 1):
        if line.startswith(" *     "):
            begun = begun or number
            lines.append(line[7:] + "\n")
        elif line == " *" and begun:
            lines.append("\n")
        elif begun:
            text = "".join(lines).split("\ncc ")[0]
            if re.search(r"\);$", text, re.M):
                yield Block(header, begun, text)
            begun, lines = None, []


def split(text):
    """Functions and other definitions, and the statements after them."""
    definitions, statements, inside = "", "", False
    for line in text.splitlines(keepends=True):
        begins = not inside and re.match(r"(static|void|typedef|#include)\b|/\*", line)
        if inside or begins:
            definitions, statements = definitions + line, statements + "\n"
            inside = line[0] != "}" if inside else begins[0] in ("static", "void", "typedef") and not re.search(r"[;}]$", line)
        else:
            definitions, statements = definitions + "\n", statements + line
    return definitions, statements


def source(block, begin):
    """The program of a block. Its lines keep their numbers in the documentation."""
    at = f'#line {block.line} "{block.file.relative_to(ROOT)}"\n'
    if re.search(r"^int main\(", block.text, re.M):
        return at + block.text
    before = INCLUDES + "static agent_error_t *error;\n" if block.file == HEADER else begin
    definitions, statements = split(block.text)
    program = before + at + definitions
    if statements.strip():
        parameters = PARAMETERS.format(call=CALLS.get(block.file, OTHER_CALL))
        # A block in the block, in which the lines may declare what is a parameter.
        program += f"void lines({parameters});\nvoid lines({parameters})\n{{\n{{\n{at}{statements}}}\n}}\n"
    return program


def compile_as(language, standard, compiler, text):
    """The compiler's errors."""
    command = [compiler, "-x", language, f"-std={standard}", *WARNINGS, "-Iinclude", "-fsyntax-only", "-"]
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, cwd=ROOT)
    return done.stdout or f"{compiler} ended with {done.returncode}\n" if done.returncode else ""


def main():
    compilers = {"c": ("c99", os.environ.get("CC", "cc")), "c++": ("c++17", os.environ.get("CXX", "c++"))}
    installed = {language for language, (_, compiler) in compilers.items() if shutil.which(compiler)}

    [common] = fenced(BEGIN_PAGE)
    begin = f'#line {common.line} "{BEGIN_PAGE.relative_to(ROOT)}"\n{common.text}'
    blocks = [block for page in PAGES for block in fenced(page)]
    examples = [Block(file, 1, file.read_text(encoding="utf-8")) for file in sorted((ROOT / "examples/c").glob("*.c"))]
    blocks += [*indented(HEADER), *examples]
    passed = failed = skipped = 0
    for block in blocks:
        text = source(block, begin)
        if block.file not in BY_HAND and (fixed := FIXED_BUFFER.search(block.text)):
            failed += 1
            print(f"  FAILED {block.place}: {fixed[0]} has room for so much only; use memory of the needed length")
        for language, (standard, compiler) in compilers.items():
            if language not in installed or (CURL in text and compile_as(language, standard, compiler, CURL)):
                skipped += 1
            elif wrong := compile_as(language, standard, compiler, text):
                failed += 1
                print(f"  FAILED {block.place} as {language}\n{wrong}", end="")
            else:
                passed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not blocks else 0


if __name__ == "__main__":
    sys.exit(main())
