"""A terminal in tmux: keys are sent to it, and what it shows is read. `drawn` makes a picture of that, an SVG."""

import html
import re
import shlex
import subprocess
import time

SECONDS = 60


class Terminal:
    """A shell in a terminal of its own, with a server of its own, which ends with it."""

    def __init__(self, name, folder, environment, columns=88, rows=40):
        self.name = name
        shell = "env -i " + " ".join(shlex.quote(f"{name}={value}") for name, value in environment.items()) + " sh"
        size = ["-x", str(columns), "-y", str(rows)]
        self.tmux("-f", "/dev/null", "new-session", "-d", "-s", "main", *size, "-c", str(folder), shell)
        self.tmux("set-option", "-g", "history-limit", "5000")

    def tmux(self, *arguments):
        done = subprocess.run(["tmux", "-L", self.name, *arguments], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"tmux {arguments}: {done.stderr}")
        return done.stdout

    def type(self, text):
        """Types a line, key by key, and ends it."""
        for character in text:
            self.tmux("send-keys", "-t", "main", "-l", character)
        self.key("Enter")

    def key(self, name):
        self.tmux("send-keys", "-t", "main", name)

    def shown(self):
        """All that was shown, as text."""
        return self.tmux("capture-pane", "-p", "-J", "-t", "main", "-S", "-")

    def coloured(self):
        """The same with the colours, as a terminal has them."""
        return self.tmux("capture-pane", "-p", "-e", "-t", "main", "-S", "-")

    def wait(self, pattern, after=0):
        """Waits until a pattern is shown behind so many characters, and gives where it ends."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            found = re.compile(pattern, re.MULTILINE).search(self.shown(), after)
            if found:
                return found.end()
            time.sleep(0.02)
        raise AssertionError(f"{pattern!r} is not shown after {after} characters; shown is:\n{self.shown()}")

    def close(self):
        subprocess.run(["tmux", "-L", self.name, "kill-server"], capture_output=True)


WIDTH, HEIGHT, MARGIN = 8.4, 19, 16
COLOURS = {31: "#ff7b72", 32: "#7ee787", 33: "#e3b341", 34: "#79c0ff", 35: "#d2a8ff", 36: "#76e3ea"}


def spans(line, style):
    """The pieces of a line, each with its style. A line begins with the style in which the one before has ended."""
    at = 0
    for found in re.finditer(r"\x1b\[([0-9;]*)m", line):
        if found.start() > at:
            yield line[at:found.start()], dict(style)
        at = found.end()
        for code in [int(code or 0) for code in found[1].split(";")]:
            if code == 0:
                style.clear()
            elif code == 1:
                style["font-weight"] = "bold"
            elif code == 2:
                style["fill"] = "#8b949e"
            elif code == 3:
                style["font-style"] = "italic"
            elif code == 4:
                style["text-decoration"] = "underline"
            elif code in COLOURS:
                style["fill"] = COLOURS[code]
    if at < len(line):
        yield line[at:], dict(style)


def drawn(lines, columns, about):
    """A picture of these lines."""
    width, height = round(columns * WIDTH + 2 * MARGIN), len(lines) * HEIGHT + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
        f"<title>{html.escape(about)}</title>",
        '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>',
        '<g font-family="ui-monospace,Menlo,Consolas,monospace" font-size="14" fill="#e6edf3">',
    ]
    style = {}
    for row, line in enumerate(lines):
        column, y = 0, MARGIN + (row + 1) * HEIGHT - 5
        for text, shown in spans(line.rstrip(), style):
            attributes = "".join(f' {name}="{value}"' for name, value in shown.items())
            # Without the spaces around it, which SVG leaves out.
            word, indent = text.strip(), len(text) - len(text.lstrip())
            x, length = round(MARGIN + (column + indent) * WIDTH, 1), round(len(word) * WIDTH, 1)
            if word:
                parts.append(f'<text x="{x}" y="{y}" textLength="{length}"{attributes}>{html.escape(word)}</text>')
            column += len(text)
    return "\n".join([*parts, "</g>", "</svg>", ""])
