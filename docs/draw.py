#!/usr/bin/env python3
"""Draws loop.svg from loop.flow: `draw.py`. `draw.py --check` fails if the picture does not match the text."""

import re
import sys
from html import escape
from pathlib import Path

HERE = Path(__file__).resolve().parent
WIDTH, ROW, PAD, INDENT = 920, 34, 14, 22
BOX = 420

STYLE = """
  text { font: 14px ui-monospace, Menlo, Consolas, monospace; fill: #1f2933; }
  .note, .title { font: 12px system-ui, sans-serif; fill: #52606d; paint-order: stroke; stroke: #fff; stroke-width: 4px; }
  .title { font-weight: 600; }
  .event { fill: #e3f2fd; stroke: #1976d2; }
  .ask { fill: #fff8e1; stroke: #f9a825; }
  .group { fill: none; stroke: #9aa5b1; stroke-dasharray: 5 4; }
  .arrow { stroke: #52606d; fill: none; marker-end: url(#tip); }
"""


def read(text):
    """Rows of (kind, depth, text, note)."""
    rows, depth = [], 0
    for line in text.splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line == "}":
            depth -= 1
            rows.append(("end", depth, "", ""))
        elif group := re.fullmatch(r"group (.*?) *\{", line):
            title, _, note = group[1].partition(":")
            rows.append(("group", depth, title.strip(), note.strip()))
            depth += 1
        else:
            kind, _, rest = line.partition(" ")
            what, _, note = rest.partition("|")
            rows.append((kind, depth, what.strip(), note.strip()))
    return rows


def draw(rows):
    shapes, arrows, groups = [], [], []
    y, last = PAD, None
    for kind, depth, text, note in rows:
        x = PAD + depth * INDENT
        if kind == "group":
            groups.append((x, y, depth))
            title = f'<text class="title" x="{x + 8}" y="{y + 16}">{escape(text)}</text>'
            if note:
                title += f'<text class="note" x="{x + 16 + 8 * len(text)}" y="{y + 16}">{escape(note)}</text>'
            shapes.append(title)
            y += 24
        elif kind == "end":
            left, top, at = groups.pop()
            width = BOX + 2 * INDENT * (3 - at) - INDENT
            shapes.append(f'<rect class="group" x="{left}" y="{top}" width="{width}" height="{y - top}" rx="8"/>')
            if at == 0:
                right = left + width
                path = f"M {right} {y - 12} h 16 V {top + 12} h -16"
                arrows.append(f'<path class="arrow" d="{path}"/>')
            y += 10
        else:
            middle = PAD + 3 * INDENT + BOX / 2
            left = middle - BOX / 2
            if last is not None:
                arrows.append(f'<path class="arrow" d="M {middle} {last} V {y - 1}"/>')
            shapes.append(f'<rect class="{kind}" x="{left}" y="{y}" width="{BOX}" height="22" rx="5"/>')
            shapes.append(f'<text x="{middle}" y="{y + 15}" text-anchor="middle">{escape(text)}</text>')
            if note:
                shapes.append(f'<text class="note" x="{left + BOX + 76}" y="{y + 15}">{escape(note)}</text>')
            last = y + 22
            y += ROW
    marker = '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + PAD}"'
            ' role="img" aria-label="The events of a run">',
            f"<style>{STYLE}</style>",
            f'<defs>{marker}<path d="M 0 0 L 8 4 L 0 8 z" fill="#52606d"/></marker></defs>',
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            *arrows,
            *shapes,
            "</svg>",
            "",
        ]
    )


def main():
    picture = draw(read((HERE / "loop.flow").read_text()))
    if "--check" in sys.argv:
        same = (HERE / "loop.svg").read_text() == picture
        print("loop.svg matches loop.flow" if same else "loop.svg does not match loop.flow; run docs/draw.py")
        return 0 if same else 1
    (HERE / "loop.svg").write_text(picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
