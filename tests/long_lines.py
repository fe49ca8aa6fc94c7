"""Lists the lines of the repository's texts that have more than 130 characters.

Data is exempt: JSON, tables, recorded streams, lock files, pictures and other people's licences; and `.ci`, which is not part
of the library.
"""

import subprocess
import sys
from pathlib import Path

LIMIT = 130
DATA = {".json", ".jsonl", ".sse", ".tsv", ".lock", ".svg", ".png"}
LICENCES = "THIRD-PARTY-NOTICES.txt"
ROOT = Path(__file__).resolve().parents[1]


def texts():
    """The files in git, and new ones that it does not ignore."""
    listed = subprocess.check_output(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, text=True)
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if path.suffix not in DATA and path.name != LICENCES and not name.startswith(".ci/") and path.is_file():
            yield name, path.read_text(encoding="utf-8")


def main():
    found = 0
    for name, text in texts():
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > LIMIT:
                print(f"{name}:{number}: {len(line)} characters, {LIMIT} are allowed")
                found += 1
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
