"""Owns the text that the model learns: the King James Bible as Debian's package bible-kjv prints it, chapter by chapter.

Refuses to fetch anything: `apt-get install bible-kjv` brings the text, whose copyright is expired.
"""

import re
import subprocess

WHOLE = "gen1:1-rev22:21"
VERSE = re.compile(r"(?P<chapter>[1-3]?[A-Z][A-Za-z]+\d+):\d+ (?P<text>.+)")


def chapters():
    """The 1,189 chapters in the order of the book, each a string with one verse a line."""
    printed = subprocess.run(["bible", "-f", WHOLE], check=True, capture_output=True, text=True).stdout
    found = {}
    for line in printed.splitlines():
        match = VERSE.fullmatch(line)
        if match is None:
            raise ValueError(f"not a verse: {line!r}")
        found.setdefault(match["chapter"], []).append(" ".join(match["text"].split()))
    return ["\n".join(verses) + "\n" for verses in found.values()]
