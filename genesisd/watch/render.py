"""A page as Markdown and as HTML. Pure.

What upstream's people wrote (titles, labels, paths) goes through here and nowhere else, so that none of it can
become markup: a title with a pipe breaks no table, one with a tag is text, one with an escape moves no cursor.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from genesisd.watch.page import Block, Cell, Heading, Items, Link, Paragraph, Table

_MARKUP = re.compile(r"([\\`*_\[\]<>|#~&])")
_BREAKS = re.compile(r"[\r\n\t\v\f\u0085\u2028\u2029]+")
_STEERING = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Commands to a terminal, and turns of the direction of reading: who prints a report, or looks at it, reads what is there."""
_STYLE = (
    ":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:80rem;margin:2rem auto;"
    "padding:0 1rem;overflow-wrap:break-word}table{border-collapse:collapse;width:100%;margin:1rem 0;display:block;"
    "overflow-x:auto}th,td{border-bottom:1px solid #8884;padding:.3rem .6rem;text-align:left;vertical-align:top}"
    "th{font-weight:600}"
)


def to_markdown(blocks: Iterable[Block]) -> str:
    """Markdown with tables as most readers know them."""
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def to_html(blocks: Sequence[Block]) -> str:
    """One page that needs nothing else: no script, no address but those of its links."""
    title = _line(next((block.text for block in blocks if isinstance(block, Heading)), ""))
    body = "\n".join(_html(block) for block in blocks)
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style>"
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {_plain(text)}"
        case Paragraph(text):
            return _plain(text)
        case Items(items):
            return "\n".join(f"- {_cell(item)}" for item in items)
        case Table(head, rows):
            lines = [head, tuple("---" for _ in head)]
            shown = [f"| {' | '.join(_plain(text) for text in lines[0])} |", f"| {' | '.join(lines[1])} |"]
            return "\n".join([*shown, *(f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows)])


def _cell(cell: Cell) -> str:
    if isinstance(cell, Link):
        return f"[{_plain(cell.text)}](<{cell.to}>)" if _is_safe(cell.to) else _plain(cell.text)
    return _plain(cell)


def _plain(text: str) -> str:
    return _MARKUP.sub(r"\\\1", _line(text))


def _line(text: str) -> str:
    return _STEERING.sub("\N{REPLACEMENT CHARACTER}", _BREAKS.sub(" ", text))


def _escaped(text: str) -> str:
    return html.escape(_line(text))


def _html(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{_escaped(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{_escaped(text)}</p>"
        case Items(items):
            return f"<ul>{''.join(f'<li>{_inline(item)}</li>' for item in items)}</ul>"
        case Table(head, rows):
            first = "".join(f"<th>{_escaped(text)}</th>" for text in head)
            rest = "".join(f"<tr>{''.join(f'<td>{_inline(cell)}</td>' for cell in row)}</tr>" for row in rows)
            return f"<table><thead><tr>{first}</tr></thead><tbody>{rest}</tbody></table>"


def _inline(cell: Cell) -> str:
    if isinstance(cell, Link) and _is_safe(cell.to):
        return f'<a href="{html.escape(cell.to, quote=True)}">{_escaped(cell.text)}</a>'
    return _escaped(cell.text if isinstance(cell, Link) else cell)


def _is_safe(address: str) -> bool:
    return address.startswith("https://") and not re.search(r"[\s<>]", address)
