"""The figures of run.py as a Markdown table and as an SVG diagram."""

import math
from html import escape

# Title, and what the axes are, of each diagram.
DIAGRAMS = {
    "deltas": ("Deltas of a stream", "deltas", "CPU ms"),
    "turns": ("Tool turns of a run", "turns", "CPU ms"),
    "history": ("A turn, by the turns before it", "turns before", "CPU ms per turn"),
    "agents": ("Agents of 6 turns at the same time", "agents", "CPU s"),
}
COLOURS = ("#888888", "#444444", "#c0392b", "#2471a3", "#b7950b", "#1e8449", "#7d3c98", "#d35400")
WIDTH, HEIGHT, MARGIN = 460, 300, 58


def markdown(rows, names, where, notes):
    """The table; each cell has the median and its ratio to the floor."""
    lines = [where, "", f"| figure | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    for row in rows:
        cells = [cell(row["programs"].get(name), row["digits"]) for name in names]
        lines.append(f"| {row['words']}, {row['unit']} | {' | '.join(cells)} |")
    lines += ["", "In brackets: times the floor, and how many times it may be."]
    return "\n".join(lines + [f"- {note}" for note in notes])


def cell(figure, digits):
    if figure is None:
        return ""
    text = f"{figure['median']:,.{digits}f}"
    if figure["ratio"] is None:
        return f"{text} (of {figure['wanted']:g}, {'met' if figure['met'] else 'missed'})" if "wanted" in figure else text
    if "wanted" not in figure:
        return f"{text} ({figure['ratio']:.1f})"
    return f"{text} ({figure['ratio']:.1f} of {figure['wanted']:g}, {'met' if figure['met'] else 'missed'})"


def svg(points, where):
    """Four diagrams with logarithmic axes, so that what grows in proportion is a line with the slope 1."""
    names = list(dict.fromkeys(name for lines in points.values() for name in lines))
    colour = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    body = []
    for i, diagram in enumerate(name for name in DIAGRAMS if name in points):
        body.append(f'<g transform="translate({i % 2 * WIDTH},{24 + i // 2 * HEIGHT})">')
        body += panel(*DIAGRAMS[diagram], points[diagram], colour)
        body.append("</g>")
    for i, name in enumerate(names):
        x = 20 + i * 110
        body.append(f'<rect x="{x}" y="{2 * HEIGHT + 30}" width="14" height="4" fill="{colour[name]}"/>')
        body.append(f'<text x="{x + 20}" y="{2 * HEIGHT + 36}">{escape(name)}</text>')
    size = f'viewBox="0 0 {2 * WIDTH} {2 * HEIGHT + 50}" font-family="sans-serif" font-size="11"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    back = '<rect width="100%" height="100%" fill="white"/>'
    return "\n".join([head, back, f'<text x="20" y="16">{escape(where)}</text>', *body, "</svg>"]) + "\n"


def panel(title, x_name, y_name, lines, colour):
    """One diagram."""
    lines = {name: {x: max(y, 1e-4) for x, y in line.items()} for name, line in lines.items()}
    xs = [x for line in lines.values() for x in line]
    ys = [y for line in lines.values() for y in line.values()]
    x_of, x_ticks = axis(min(xs), max(xs), MARGIN, WIDTH - 20)
    y_of, y_ticks = axis(min(ys), max(ys), HEIGHT - 40, 30)
    out = [f'<text x="{MARGIN}" y="20" font-size="13">{escape(title)}</text>']
    for tick in x_ticks:
        out.append(f'<line x1="{x_of(tick):.1f}" x2="{x_of(tick):.1f}" y1="30" y2="{HEIGHT - 40}" stroke="#eeeeee"/>')
        out.append(f'<text x="{x_of(tick):.1f}" y="{HEIGHT - 26}" text-anchor="middle">{tick:,g}</text>')
    for tick in y_ticks:
        out.append(f'<line x1="{MARGIN}" x2="{WIDTH - 20}" y1="{y_of(tick):.1f}" y2="{y_of(tick):.1f}" stroke="#eeeeee"/>')
        out.append(f'<text x="{MARGIN - 6}" y="{y_of(tick) + 4:.1f}" text-anchor="end">{tick:,g}</text>')
    out.append(f'<text x="{WIDTH - 20}" y="{HEIGHT - 12}" text-anchor="end">{x_name}</text>')
    out.append(f'<text x="{WIDTH - 20}" y="20" text-anchor="end">{y_name}</text>')
    for name, line in lines.items():
        path = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in line.items())
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour[name]}" stroke-width="1.5"/>')
    return out


def axis(low, high, start, end):
    """A logarithmic axis from `start` to `end`: the place of a value, and the values to mark: 1, 2 and 5 of each power of ten."""
    bottom, top = math.log10(low), math.log10(max(high, low * 1.01))
    powers = range(math.floor(bottom), math.ceil(top) + 1)
    ticks = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    if top - bottom > 2:
        ticks = [10.0**power for power in powers]
    place = lambda value: start + (math.log10(value) - bottom) / (top - bottom) * (end - start)  # noqa: E731
    return place, [tick for tick in ticks if low <= tick <= high]
