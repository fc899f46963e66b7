#!/usr/bin/env python3
"""Converts a screen that tmux has captured (capture-pane -e -p) to HTML, with an element at a fixed
position for each character."""
import html
import re
import sys

WIDTH, HEIGHT = 9, 18
FORE, BACK = "#d0d4d8", "#15171b"
NAMED = ["#15171b", "#e06c6c", "#7fbf6f", "#d8b86a", "#6ea3dc", "#b08ad6", "#62b8b8", "#d0d4d8"]


def indexed(n):
    if n < 16:
        return NAMED[n % 8]
    if n >= 232:
        return "#" + f"{8 + 10 * (n - 232):02x}" * 3
    level = [0, 95, 135, 175, 215, 255]
    n -= 16
    return "#%02x%02x%02x" % (level[n // 36], level[n // 6 % 6], level[n % 6])


def apply(style, codes):
    codes = [int(c or 0) for c in codes.split(";")]
    while codes:
        code = codes.pop(0)
        if code == 0:
            style.clear()
        elif code in (1, 2, 7):
            style[{1: "bold", 2: "dim", 7: "reverse"}[code]] = True
        elif code in (38, 48):
            ground = "fore" if code == 38 else "back"
            if codes.pop(0) == 5:
                style[ground] = indexed(codes.pop(0))
            else:
                style[ground] = "#%02x%02x%02x" % tuple(codes.pop(0) for _ in range(3))
        elif 30 <= code < 38:
            style["fore"] = NAMED[code - 30]
        elif code in (39, 49):
            style.pop("fore" if code == 39 else "back", None)


def cell(x, y, character, style):
    fore, back = style.get("fore", FORE), style.get("back", BACK)
    if style.get("reverse"):
        fore, back = back, fore
    block = "\u2581" <= character <= "\u2588"
    if character == "\u2580":
        fill = f"linear-gradient({fore} 50%,{back} 50%)"
    elif block:
        eighths = ord(character) - 0x2580
        fill = f"linear-gradient({back} {100 - 12.5 * eighths}%,{fore} {100 - 12.5 * eighths}%)"
    else:
        fill = back
    text = "" if block or character == "\u2580" else html.escape(character)
    css = f"left:{x * WIDTH}px;top:{y * HEIGHT}px;background:{fill};color:{fore}"
    css += ";font-weight:bold" * style.get("bold", False)
    inner = f"<span style=opacity:.62>{text}</span>" if style.get("dim") else text
    return f'<div style="{css}">{inner}</div>'


print(f"""<meta charset=utf-8><style>body{{margin:0;background:{BACK}}}
div{{position:absolute;width:{WIDTH}px;height:{HEIGHT}px;white-space:pre;
font:15px/{HEIGHT}px "DejaVu Sans Mono",monospace}}</style>""")
style = {}
for y, line in enumerate(sys.stdin.read().split("\n")):
    x = 0
    for codes, character in re.findall(r"\x1b\[([0-9;]*)m|([^\x1b])", line):
        if character:
            if character != " " or style:
                print(cell(x, y, character, style))
            x += 1
        else:
            apply(style, codes)
