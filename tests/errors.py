#!/usr/bin/env python3
"""Lists every text of an error that a user can meet, to be read as the person who gets it: errors.py [WORD]

File by file, in groups: what all languages share, then what C, Python and Node add. A line for each text: its place, its kind,
and the text with its parts in braces. With a WORD, only the texts that contain it. A text says what was wrong, where, and what to
do.

Listed is each text of the code that reads like a sentence or a part of one. Not listed are comments, tests, log lines, words that
are looked for in other texts, and the tables of what servers say. A text that is put together from several is several lines: its
parts stand near each other. The kind is the one that the code names beside the text, else that of error_kinds.py. The texts of
diagnostic events and of results of failed calls are here too: users and models read them in the same way.

errors.py --check prints what is wrong with the list, and fails then: a text without a kind, a row of error_kinds.py that no text
needs, and code that makes an error near which no text of its kind is listed.
"""

import ast
import re
import sys
from pathlib import Path

from error_kinds import GIVEN, ROWS

ROOT = Path(__file__).resolve().parents[1]
GROUPS = {
    "all languages": ["core/proto/src", "core/src"],
    "C": ["ffi/src"],
    "Python": ["bindings/python/src", "bindings/python/python"],
    "Node": ["bindings/node/src", "bindings/node/lib"],
}
# Tests, and what no error is made of: documentation in tables, and wordings of servers that are recognised.
LEFT_OUT = {"tests", "guide", "wordings", "wording", "known", "retry_after", "events", "hooks", "codes"}
LEFT_OUT_ONLY_IN = {"events": "table", "hooks": "table", "codes": "table"}
# Comments and strings of Rust and TypeScript; a string's text is in group 1 or 2.
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|r#"(.*?)"#|"((?:[^"\\]|\\.)*)"|\'(?:[^\'\\\n]|\\.)\'', re.DOTALL)
# A single-quoted or template text of TypeScript, too.
TOKEN_TS = re.compile(r"//[^\n]*|/\*.*?\*/|`((?:[^`\\]|\\.)*)`|'((?:[^'\\\n]|\\.)*)'", re.DOTALL)
KIND = re.compile(
    r"ErrorKind::(\w+)|Error::(invalid_argument)|\b(?:new )?(TypeError|RangeError|ValueError)\b|Py(\w+Error)\b"
    r"|(codes::|diagnostic\()|\b(invalidArgument|invalid_argument|invalidState)\(|(ToolOutput::error)"
)
FUNCTION = re.compile(r"^ *(?:pub(?:\([a-z]+\))? |export |async |const )*(?:fn|function) \w+", re.MULTILINE)
# As far behind a text its kind may be named, in characters.
SOON = 400
# Where a statement or an arm of a match begins.
STATEMENT = re.compile(r";\s*\n|\}\n|,\n\s*[\w:.(){} |,]+ =>")
SENTENCE = re.compile(r"[\w{}\"'`)…,;:] [\w{(\"`$]")
NOT_FOR_USERS = re.compile(
    r"\b(?:tracing::\w+|debug|expect|unreachable|panic|(?:debug_)?assert\w*|println|serde|debug_struct)!?\([^;]{0,40}$"
    r"|#!?\[[^\]]*$|\b(?:import|export)\b[^;\n]*$|\bfrom $"
)
# Where an error is made.
SITE = re.compile(
    r"Error::new\(\s*(?:crate::|agent_loop::)?ErrorKind::(\w+)|Error::(invalid_argument)\(|Py(TypeError|ValueError)::new_err"
    r"|raise (\w+)\(|new (TypeError|RangeError)\(|throw (invalidArgument)\("
)
# The text is looked for in another one: it is compared, or the pattern of a match.
LOOKED_FOR = re.compile(r"(?:contains|starts_with|ends_with|strip_prefix|strip_suffix|find|includes|startsWith)\($|[=!]=+ $")
PATTERN = re.compile(r"\)?\s*(?:=>|\|[^|]|if\b[^=]*=>)")


# (path, kind, pattern)
KINDS = [(*row.split(" ", 2), "")[:3] for row in ROWS.strip().split("\n")]
# What the code calls in another way than the list.
NAMES = {
    "Unsupported": "TypeError",
    "Unknown": "TypeError",
    "Misfit": "result",
    "WrongArguments": "result",
    "codes::": "diagnostic",
    "diagnostic(": "diagnostic",
    "ToolOutput::error": "result",
}


def snake(kind):
    """A kind as users know it: those of errors in snake case, Python's own exceptions by their names."""
    if kind in ("TypeError", "RangeError", "ValueError", "AttributeError", "ImportError"):
        return kind
    return NAMES.get(kind) or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind).lower().removesuffix("_error")


def without_tests(text):
    """Rust code up to its module of tests, which stands last."""
    return text.split("#[cfg(test)]\nmod tests {")[0]


def kinds_in(code):
    return [next(filter(None, match)) for match in KIND.findall(code)]


def kind_after(text, at):
    """The kind that the rest of the function names first, soon after the text."""
    end = next((found.start() for found in FUNCTION.finditer(text, at)), len(text))
    kinds = kinds_in(text[at : min(end, at + SOON)])
    return kinds[:1]


def of_code(text, token):
    """(line, kind, text) of Rust or TypeScript code."""
    for found in token.finditer(text):
        string = found[1] if found[1] is not None else found[2]
        if string is None or string.startswith("<") or not SENTENCE.search(string):
            continue
        before = text[max(0, found.start() - 240) : found.start()]
        statement = STATEMENT.split(before)[-1]
        if NOT_FOR_USERS.search(statement) or LOOKED_FOR.search(statement) or PATTERN.match(text, found.end()):
            continue
        kinds = kinds_in(statement)[-1:] or kind_after(text, found.end())
        words = re.sub(r"\\\n\s*", "", string).replace('\\"', '"')
        yield text.count("\n", 0, found.start()) + 1, snake(kinds[-1]) if kinds else "-", words


def words_of(node):
    """The text of a string or an f-string, its parts in braces."""
    if isinstance(node, ast.Constant):
        return node.value
    parts = (part.value if isinstance(part, ast.Constant) else "{" + ast.unparse(part.value) + "}" for part in node.values)
    return "".join(parts)


def of_python(text):
    """(line, kind, text) of Python code."""
    tree = ast.parse(text)
    # Docstrings and other texts that stand alone, annotations, and the parts of what is listed as a whole.
    skipped, kinds = set(), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            skipped.add(node.value)
        elif isinstance(node, ast.JoinedStr):
            skipped.update(ast.walk(node))
            skipped.discard(node)
        elif isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            skipped.update(ast.walk(node.annotation))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns:
            skipped.update(ast.walk(node.returns))
        elif isinstance(node, ast.Call) and re.search(
            r"(Error|Unsupported|Unknown|Misfit|WrongArguments)$", ast.unparse(node.func)
        ):
            kinds.update(dict.fromkeys(ast.walk(node), ast.unparse(node.func).rpartition(".")[2]))
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        if is_text and node not in skipped and SENTENCE.search(words_of(node)) and not words_of(node).startswith("<"):
            yield node.lineno, snake(kinds.get(node, "-")), words_of(node)


READERS = {
    ".py": of_python,
    ".rs": lambda code: of_code(code, TOKEN),
    ".ts": lambda code: of_code(code, TOKEN_TS),
}


def is_left_out(path):
    names = [*path.parts[:-1], path.stem]
    return any(name in LEFT_OUT and LEFT_OUT_ONLY_IN.get(name, name) in names for name in names)


def kind_of_row(path, words):
    """The row of error_kinds.py that a text falls under."""
    return next((row for row in KINDS if path.startswith(row[0].lstrip("!")) and re.search(row[2], words)), None)


def sources():
    """(group, path, code) of the files that have texts."""
    for group, folders in GROUPS.items():
        for path in sorted(path for folder in folders for path in (ROOT / folder).rglob("*")):
            place = path.relative_to(ROOT)
            if path.suffix in READERS and not is_left_out(place):
                code = path.read_text(encoding="utf-8")
                yield group, place, without_tests(code) if path.suffix == ".rs" else code


def texts(used=None):
    """(group, path, line, kind, text) of all texts. Rows that were needed are added to `used`."""
    for group, path, code in sources():
        for line, kind, words in sorted(READERS[path.suffix](code)):
            row = kind_of_row(str(path), words)
            if row and (kind == "-" or row[0].startswith("!")):
                kind = row[1]
                if used is not None:
                    used.add(row)
            if kind != "none":
                yield group, str(path), line, kind, words


def unlisted(listed):
    """The places in the code that make an error, near which no text of its kind is listed."""
    given = [row.split(" ", 1) for row in GIVEN.strip().split("\n")]
    for _, path, code in sources():
        for found in SITE.finditer(code):
            start = code.rfind("\n", 0, found.start()) + 1
            if code[start : found.start()].lstrip().startswith(("//", "*", "#")):
                continue
            if any(str(path) == place and code.startswith(text, found.start()) for place, text in given):
                continue
            line, kind = code.count("\n", 0, found.start()) + 1, snake(next(filter(None, found.groups())))
            if not any((path_, kind_) == (str(path), kind) and -14 <= at - line <= 8 for _, path_, at, kind_, _ in listed):
                yield f"{path}:{line}: no text of the kind {kind} is listed near this error"


def check():
    """What is wrong with the list."""
    used = set()
    listed = list(texts(used))
    wrong = [f"{path}:{line}: no kind: {words}" for _, path, line, kind, words in listed if kind == "-"]
    wrong += [f"error_kinds.py: no text needs the row {row}" for row in KINDS if row not in used]
    return [*wrong, *unlisted(listed)]


def main(word=""):
    if word == "--check":
        wrong = check()
        print(*wrong, f"{int(not wrong)} passed, {len(wrong)} failed, 0 skipped", sep="\n")
        return 1 if wrong else 0
    listed = [text for text in texts() if word in text[4]]
    group = path = None
    for text in listed:
        if text[0] != group:
            print(f"\n==== {text[0]}")
        if text[1] != path:
            print(f"\n{text[1]}")
        group, path, line, kind, words = text
        print(f"{line:5} {kind:17} {words}")
    print(f"\n{len(listed)} texts")
    return 0 if listed else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
