#!/usr/bin/env python3
"""Lists every text of an error that a user can meet, to be read as the person who gets it: errors.py [WORD]

A line for each text: its kind, the text with its parts in braces, and the place in the code. In groups: what all languages share,
then what C, Python and Node add. With a WORD, only the lines that contain it. A text says what was wrong, where, and what to do.

Found are the texts of the code, without tests: sentences in a statement that makes an error, refuses or fails. A text that is put
together from several is several lines. The kind is the one named next to it, or `-` where it is decided elsewhere.
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
# Comments and strings of Rust and TypeScript; a string's text is in group 1 or 2.
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|r#"(.*?)"#|"((?:[^"\\]|\\.)*)"|\'(?:[^\'\\\n]|\\.)\'', re.DOTALL)
# A single-quoted or template text of TypeScript, too.
TOKEN_TS = re.compile(r"//[^\n]*|/\*.*?\*/|`((?:[^`\\]|\\.)*)`|'((?:[^'\\\n]|\\.)*)'", re.DOTALL)
KIND = re.compile(r"ErrorKind::(\w+)|Error::(invalid_argument)|\b(?:new )?(TypeError|RangeError|ValueError)\b|Py(\w+Error)\b")
# A statement that makes an error says so, before the text.
MAKES = re.compile(r"Err\(|Error|error|fail|refus|reject|throw|expect|invalid|unknown|why|wrong|reason|message|problem|ok_or")
SENTENCE = re.compile(r"[a-z{}\"'`)] [a-z{(\"`]")
NOT_FOR_USERS = re.compile(
    r"\b(?:tracing|debug|expect|unreachable|panic|assert\w*|doc|println|write_str|serde)\b[^;]{0,40}$|#!?\[[^\]]*$"
)


def snake(kind):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind).lower()


def without_tests(text):
    """Rust code up to its module of tests, which stands last."""
    return text.split("#[cfg(test)]\nmod tests {")[0]


def of_code(text, token):
    """(line, kind, text) of Rust or TypeScript code."""
    for found in token.finditer(text):
        string = found[1] if found[1] is not None else found[2]
        if string is None or not SENTENCE.search(string):
            continue
        before = text[max(0, found.start() - 240) : found.start()]
        statement = re.split(r";\s*\n|\}\n|,\n\s*\w+ =>", before)[-1]
        if NOT_FOR_USERS.search(statement) or not MAKES.search(statement):
            continue
        kinds = [next(filter(None, match)) for match in KIND.findall(statement)]
        words = re.sub(r"\\\n\s*", "", string).replace('\\"', '"')
        yield text.count("\n", 0, found.start()) + 1, snake(kinds[-1]) if kinds else "-", words


def of_python(text):
    """(line, kind, text) of what Python code raises."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            words = ast.unparse(node.exc.args[0])
            yield node.lineno, ast.unparse(node.exc.func), re.sub(r"^f?['\"]|['\"]$", "", words)


def lines_of(folder):
    for path in sorted((ROOT / folder).rglob("*")):
        parts = set(path.relative_to(ROOT / folder).parts)
        if path.suffix not in {".rs", ".py", ".ts"} or "tests" in parts or path.stem in {"tests", "testing", "guide"}:
            continue
        text = path.read_text(encoding="utf-8")
        found = {".py": of_python, ".rs": lambda code: of_code(without_tests(code), TOKEN),
                 ".ts": lambda code: of_code(code, TOKEN_TS)}[path.suffix](text)
        for line, kind, words in found:
            yield f"{kind:17} {words}\n{'':17}   {path.relative_to(ROOT)}:{line}"


def main(word=""):
    count = 0
    for group, folders in GROUPS.items():
        print(f"\n==== {group}\n")
        for text in (text for folder in folders for text in lines_of(folder)):
            if word in text:
                print(text)
                count += 1
    print(f"\n{count} texts")
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
