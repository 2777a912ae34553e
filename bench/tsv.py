"""Writes the figures of a benchmark to a tab separated file, if the environment variable TSV names a folder.

bench/tsv.lua does the same for the benchmarks in Lua, and explains the file and its columns.
"""

import os
import platform
import shlex
import statistics
import sys
import time
from pathlib import Path

COLUMNS = ("section", "case", "unit", "min", "median", "reference", "reference_min", "reference_median", "ratio")


def read(path):
    """The text of a file without white space at its ends, or nothing if there is no such file."""
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def processor():
    """The model of the processor."""
    lines = [line.split(":", 1)[1] for line in read("/proc/cpuinfo").splitlines() if line.startswith("model name")]
    return lines[0].strip() if lines else platform.processor() or "unknown processor"


def caches():
    """The caches that the first core uses."""
    folders = sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"))
    return ", ".join(f"L{read(f / 'level')} {read(f / 'type')} {read(f / 'size')}" for f in folders) or "unknown"


def text(cell):
    return f"{cell:.6g}" if isinstance(cell, (int, float)) else " ".join(str(cell).split())


class Table:
    """The file of one benchmark. `versions` names the libraries that it compares."""

    def __init__(self, benchmark, versions):
        self.file = None
        folder = os.environ.get("TSV")
        if not folder:
            return
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.file = open(Path(folder) / f"{benchmark}.python.tsv", "w")
        for name, fact in (
            ("benchmark", benchmark),
            ("date", time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())),
            ("machine", processor()),
            ("caches", caches()),
            ("versions", f"Python {platform.python_version()}, {versions}"),
            ("command", shlex.join(Path(word).name if os.path.isabs(word) else word for word in [sys.executable, *sys.argv])),
        ):
            print(f"# {name}: {text(fact)}", file=self.file)
        print(*COLUMNS, sep="\t", file=self.file, flush=True)

    def row(self, section, case, unit, ours, reference, references, ratio=None):
        """Writes one line. `ours` and `references` are the figures of the rounds; without `ratio`, it is that of their medians."""
        if self.file:
            mine, other = ((min(figures), statistics.median(figures)) for figures in (ours, references))
            ratio = mine[1] / other[1] if ratio is None else ratio
            print(*map(text, (section, case, unit, *mine, reference, *other, ratio)), sep="\t", file=self.file, flush=True)
