#!/usr/bin/env python3
"""Run a command with a real browser: with_browser.py -- COMMAND ARGS...

The command finds Chromium at $AGENT_CHROMIUM; `browser.py` drives it. It is that of an npm package, unpacked under target/browser
the first time, or what $AGENT_CHROMIUM names already. Needs Python 3.10, Node and npm, on Linux with an x64 processor.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from base64 import b64encode
from pathlib import Path

WORK = Path(__file__).resolve().parent.parent.parent / "target/browser"
PACKAGE = "@sparticuz/chromium@153.0.0"
INTEGRITY = "jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA=="
# The program, what it is linked with, what it draws with, and fonts with their configuration.
PARTS = "chromium.br", "al2023.tar.br", "swiftshader.tar.br", "fonts.tar.br"
FOLDER = WORK / PACKAGE.rsplit("@", 1)[1]
FONTS = f"""<?xml version="1.0" ?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{FOLDER}/fonts</dir><cachedir>{FOLDER}/cache</cachedir></fontconfig>
"""
UNPACK = """
const { readFileSync, writeFileSync } = require('node:fs')
const { brotliDecompressSync } = require('node:zlib')
for (const part of process.argv.slice(1)) {
  writeFileSync(part.replace('.br', ''), brotliDecompressSync(readFileSync(`package/bin/${part}`)), { mode: 0o755 })
}
"""


def install(folder):
    """Unpacks the browser into a folder."""
    command = ["npm", "pack", "--silent", "--ignore-scripts", PACKAGE]
    packed = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout.split()[-1]
    hashed = b64encode(hashlib.sha512((folder / packed).read_bytes()).digest()).decode()
    if hashed != INTEGRITY:
        sys.exit(f"with_browser: {PACKAGE} has another content than expected: sha512-{hashed}")
    with tarfile.open(folder / packed) as archive:
        archive.extractall(folder, [member for member in archive.getmembers() if member.name.startswith("package/bin/")])
    subprocess.run(["node", "-e", UNPACK, *PARTS], cwd=folder, check=True)
    for part in folder.glob("*.tar"):
        with tarfile.open(part) as archive:
            archive.extractall(folder)
        part.unlink()
    (folder / "fonts.conf").write_text(FONTS, encoding="utf-8")  # its own has the places of another system
    (folder / packed).unlink()
    shutil.rmtree(folder / "package")


def program():
    """The browser; installs it if there is none."""
    WORK.mkdir(parents=True, exist_ok=True)
    with open(WORK / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second one blocks here and finds everything made
        if not FOLDER.exists():
            print("with_browser: installing Chromium into target/browser (once)", file=sys.stderr, flush=True)
            begun = WORK / "begun"
            shutil.rmtree(begun, ignore_errors=True)
            begun.mkdir()
            install(begun)
            begun.rename(FOLDER)
    return FOLDER / "chromium"


def main(arguments):
    if arguments[:1] != ["--"] or len(arguments) < 2:
        sys.exit(__doc__)
    environment = {**os.environ, "AGENT_CHROMIUM": os.environ.get("AGENT_CHROMIUM") or str(program())}
    return subprocess.run(arguments[1:], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
