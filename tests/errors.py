#!/usr/bin/env python3
"""Lists every text of an error that a user can meet, to be read as the person who gets it: errors.py [WORD]

File by file, in groups: what all languages share, then what C, Python and Node add. A line for each text: its place, its kind,
and the text with its parts in braces. With a WORD, only the texts that contain it. A text says what was wrong, where, and what to
do.

Listed is each text of the code that reads like a sentence or a part of one. Not listed are comments, tests, log lines, words that
are looked for in other texts, and the tables of what servers say. A text that is put together from several is several lines: its
parts stand near each other. The kind is the one named in the same statement, or `-` where it is decided elsewhere. The texts of
diagnostic events and of results of failed calls are here too: users and models read them in the same way.
"""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GROUPS = {
    "all languages": ["core/proto/src", "core/src"],
    "C": ["ffi/src"],
    "Python": ["bindings/python/src", "bindings/python/python"],
    "Node": ["bindings/node/src", "bindings/node/lib"],
}
# Tests, and what no error is made of: documentation in tables, and wordings of servers that are recognised.
LEFT_OUT = {"tests", "testing", "guide", "wordings", "wording", "known", "retry_after", "events", "hooks", "codes"}
LEFT_OUT_ONLY_IN = {"events": "table", "hooks": "table", "codes": "table"}
# Comments and strings of Rust and TypeScript; a string's text is in group 1 or 2.
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|r#"(.*?)"#|"((?:[^"\\]|\\.)*)"|\'(?:[^\'\\\n]|\\.)\'', re.DOTALL)
# A single-quoted or template text of TypeScript, too.
TOKEN_TS = re.compile(r"//[^\n]*|/\*.*?\*/|`((?:[^`\\]|\\.)*)`|'((?:[^'\\\n]|\\.)*)'", re.DOTALL)
KIND = re.compile(r"ErrorKind::(\w+)|Error::(invalid_argument)|\b(?:new )?(TypeError|RangeError|ValueError)\b|Py(\w+Error)\b")
SENTENCE = re.compile(r"[\w{}\"'`)…,;:] [\w{(\"`$]")
NOT_FOR_USERS = re.compile(
    r"\b(?:tracing::\w+|debug|expect|unreachable|panic|(?:debug_)?assert\w*|println|serde|debug_struct)!?\([^;]{0,40}$"
    r"|#!?\[[^\]]*$|\b(?:import|from|export)\b[^;\n]*$"
)
# The text is looked for in another one: it is compared, or the pattern of a match.
LOOKED_FOR = re.compile(r"(?:contains|starts_with|ends_with|strip_prefix|strip_suffix|find|includes|startsWith)\($|[=!]=+ $")
PATTERN = re.compile(r"\)?\s*(?:=>|\|[^|]|if\b[^=]*=>)")


def snake(kind):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind).lower()


def without_tests(text):
    """Rust code up to its module of tests, which stands last."""
    return text.split("#[cfg(test)]\nmod tests {")[0]


def of_code(text, token):
    """(line, kind, text) of Rust or TypeScript code."""
    for found in token.finditer(text):
        string = found[1] if found[1] is not None else found[2]
        if string is None or string.startswith("<") or not SENTENCE.search(string):
            continue
        before = text[max(0, found.start() - 240) : found.start()]
        statement = re.split(r";\s*\n|\}\n|,\n\s*\w+ =>", before)[-1]
        if NOT_FOR_USERS.search(statement) or LOOKED_FOR.search(statement) or PATTERN.match(text, found.end()):
            continue
        kinds = [next(filter(None, match)) for match in KIND.findall(statement)]
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
        elif isinstance(node, ast.Call) and re.search(r"(Error|Unsupported|Unknown)$", ast.unparse(node.func)):
            kinds.update(dict.fromkeys(ast.walk(node), ast.unparse(node.func).rpartition(".")[2]))
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        if is_text and node not in skipped and SENTENCE.search(words_of(node)) and not words_of(node).startswith("<"):
            yield node.lineno, snake(kinds.get(node, "-")), words_of(node)


READERS = {
    ".py": of_python,
    ".rs": lambda code: of_code(without_tests(code), TOKEN),
    ".ts": lambda code: of_code(code, TOKEN_TS),
}


def is_left_out(path):
    names = [*path.parts[:-1], path.stem]
    return any(name in LEFT_OUT and LEFT_OUT_ONLY_IN.get(name, name) in names for name in names)


def main(word=""):
    count = 0
    for group, folders in GROUPS.items():
        print(f"\n==== {group}")
        for path in sorted(path for folder in folders for path in (ROOT / folder).rglob("*")):
            if path.suffix not in READERS or is_left_out(path.relative_to(ROOT)):
                continue
            found = sorted(READERS[path.suffix](path.read_text(encoding="utf-8")))
            found = [text for text in found if word in text[2]]
            if found:
                print(f"\n{path.relative_to(ROOT)}")
            for line, kind, words in found:
                print(f"{line:5} {kind:17} {words}")
            count += len(found)
    print(f"\n{count} texts")
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
