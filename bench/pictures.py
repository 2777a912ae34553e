"""Draws the pictures of the documentation from the files that the benchmarks wrote.

    python bench/pictures.py [RESULTS [OUTPUT]]     by default bench/results and docs/pictures

RESULTS has the files of one machine, from `make bench-results`. bench/tsv.lua explains them.

Matplotlib draws: it is well kept, comes as one package from PyPI, writes text as text and needs no browser. Each picture says below
which machine, versions and benchmark its figures come from. Its description holds the lines of the files that it shows, for readers
who do not see it, and for `make check`, which looks for them in the files.

The colours are CSS variables with a second value for dark pages. The background belongs to the picture, so it can be read on any page.
"""

import re
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402 - after the backend is chosen
from matplotlib.ticker import FuncFormatter, NullFormatter  # noqa: E402

# Placeholders that matplotlib writes, and the colours that replace them on light and dark pages.
COLOURS = {
    "panel": ("#fefefe", "#ffffff", "#1b1f24"),
    "text": ("#010101", "#24292f", "#e6edf3"),
    "faint": ("#020202", "#57606a", "#9da7b3"),
    "grid": ("#030303", "#d8dee4", "#3a424c"),
    "ours": ("#040404", "#0b62c4", "#6cb2ff"),
    "ours-2": ("#050505", "#6a9fd8", "#3f7fc4"),
    "other": ("#060606", "#b35900", "#ffb057"),
    "other-2": ("#070707", "#8a8f98", "#8b949e"),
}
PLACEHOLDER = {name: values[0] for name, values in COLOURS.items()}


class Results:
    """The files of a folder."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.used = []

    def file(self, pattern):
        """The facts and the rows of the one file whose name matches a pattern."""
        found = [path for path in sorted(self.folder.glob("*.tsv")) if re.fullmatch(pattern, path.stem)]
        if len(found) != 1:
            raise SystemExit(f"pictures: {len(found)} files of {self.folder} match '{pattern}', and one is needed")
        lines = found[0].read_text().splitlines()
        facts = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
        table = [line for line in lines if not line.startswith("#")]
        names = table[0].split("\t")
        rows = [(line, dict(zip(names, line.split("\t")))) for line in table[1:]]
        return found[0].name, facts, rows

    def row(self, file, case, section="", reference=""):
        """The row of a case. `section` is a pattern for the beginning of the section."""
        name, _, rows = file
        for line, row in rows:
            if row["case"] == case and re.match(section, row["section"]) and reference in row["reference"]:
                self.used.append(f"{name}\t{line}")
                return row
        raise SystemExit(f"pictures: {name} has no case '{case}' in a section '{section}' with the reference '{reference}'")


def median(row):
    return float(row["median"])


def reference(row):
    return float(row["reference_median"])


def figure(width, height, **more):
    return pyplot.subplots(figsize=(width, height), facecolor=PLACEHOLDER["panel"], layout="constrained", **more)


def style(axes, title):
    axes.set_title(title, color=PLACEHOLDER["text"], fontsize=11, loc="left", fontweight="bold")
    axes.set_facecolor(PLACEHOLDER["panel"])
    axes.tick_params(colors=PLACEHOLDER["text"], labelsize=9.5, length=0, which="both")
    axes.xaxis.label.set_color(PLACEHOLDER["faint"])
    axes.yaxis.label.set_color(PLACEHOLDER["faint"])
    axes.set_axisbelow(True)
    for spine in axes.spines.values():
        spine.set_visible(False)


def bars(axes, groups, series, unit, digits=2):
    """Horizontal bars: `groups` is a list of (label, [(series, value)]), from top to bottom."""
    height, gap, at = 0.8, 0.7, 0.0
    ticks, labels, longest = [], [], max(value for _, items in groups for _, value in items)
    for label, items in groups:
        ticks.append(at + (len(items) - 1) / 2)
        labels.append(label)
        for name, value in items:
            axes.barh(at, value, height, color=PLACEHOLDER[series[name]])
            axes.text(value + longest * 0.012, at, f"{value:.{digits}f}", va="center", color=PLACEHOLDER["faint"], fontsize=8.5)
            at += 1
        at += gap
    axes.set_yticks(ticks, labels)
    axes.invert_yaxis()
    axes.set_xlim(0, longest * 1.12)
    axes.set_xlabel(unit, fontsize=9)
    axes.grid(axis="x", color=PLACEHOLDER["grid"], linewidth=0.8)


def legend(figure_, series):
    handles = [pyplot.Rectangle((0, 0), 1, 1, color=PLACEHOLDER[colour]) for colour in series.values()]
    box = figure_.legend(handles, list(series), loc="outside upper center", ncols=len(series), frameon=False, fontsize=9.5)
    for text in box.get_texts():
        text.set_color(PLACEHOLDER["text"])


def elements(results):
    """Access to single elements, on LuaJIT and on PUC Lua."""
    series = {"storage": "ours", "Lua table": "other", "FFI pointer with a check of the index": "other-2"}
    canvas, (left, right) = figure(9.6, 4.8, ncols=2)
    compiled = results.file(r"access\.luajit-2\.1\.0-beta3")
    cases = {"read": r"read s\[i\], 1e\+03", "write": r"write s\[i\] = t\[i\], a number, 1e\+03", "add 1": r"s\[i\] = s\[i\] \+ 1, 1e\+03"}
    groups = []
    for label, section in cases.items():
        table = results.row(compiled, "Lua table", section)
        items = [("Lua table", median(table))]
        for dtype in ("Double", "Int"):
            row = results.row(compiled, f"{dtype}Storage", section)
            groups.append((f"{label}, {dtype}", [("storage", median(row)), ("FFI pointer with a check of the index", reference(row)), *items]))
    bars(left, groups, series, "nanoseconds per element")
    style(left, "LuaJIT")
    groups = []
    for name, pattern in (("Lua 5.1", r"access\.lua-?5\.1.*"), ("Lua 5.4", r"access\.lua-?5\.4.*"), ("luajit -joff", r"access\.luajit-2\.1\.0-beta3-joff")):
        file = results.file(pattern)
        for label, section in list(cases.items())[:2]:
            row = results.row(file, "DoubleStorage", section, "table")
            groups.append((f"{label},\n{name}", [("storage", median(row)), ("Lua table", reference(row))]))
    bars(right, groups, series, "nanoseconds per element", digits=0)
    style(right, "Interpreters (each access calls C)")
    legend(canvas, series)
    return canvas, [compiled]


BULK = (
    "fill Byte", "fill Double", "Byte -> Byte", "Double -> Double", "Byte -> Double", "Float -> Byte", "Float -> Int", "Double -> Byte",
    "Float -> Half", "Half -> Float", "Float -> BFloat16", "Float -> ComplexFloat", "byteswap Int", "1 GiB fill", "1 GiB copy",
)


def bulk(results):
    """Whole storages, next to NumPy."""
    series = {"one thread": "ours-2", "two threads": "ours"}
    canvas, axes = figure(9.6, 5)
    file = results.file(r"versus_numpy\.python")
    for at, case in enumerate(BULK):
        for name, section in (("one thread", "1 thread"), ("two threads", "2 threads")):
            row = results.row(file, case, section, "NumPy")
            axes.scatter(reference(row) / median(row), at, s=46, color=PLACEHOLDER[series[name]], zorder=3)
    axes.set_yticks(range(len(BULK)), [case.replace("->", "to") for case in BULK])
    axes.invert_yaxis()
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.axvline(1, color=PLACEHOLDER["other"], linewidth=1.5)
    axes.grid(color=PLACEHOLDER["grid"], linewidth=0.8)
    axes.set_xlabel("times NumPy's speed (the line at 1 is NumPy); 10,000,000 elements", fontsize=9)
    style(axes, "Filling, copying and converting")
    legend(canvas, series)
    return canvas, [file]


def growth(results):
    """Making storages of any size."""
    series = {"storage, made, filled and dropped": "ours", "calloc, ffi.fill and free": "other"}
    canvas, axes = figure(9.6, 3.8)
    file = results.file(r"growth\.luajit-2\.1\.0-beta3")
    sizes = [row["section"] for _, row in file[2] if row["case"] == "made, filled and dropped"]
    for label, case in (("storage, made, filled and dropped", "made, filled and dropped"), ("calloc, ffi.fill and free", "calloc, ffi.fill and free")):
        rows = [results.row(file, case, re.escape(section)) for section in sizes]
        bytes_ = [int(re.match(r"\d+", section)[0]) for section in sizes]
        axes.plot(bytes_, [median(row) for row in rows], marker="o", color=PLACEHOLDER[series[label]], linewidth=2)
    axes.set_xscale("log")
    axes.set_yscale("log")
    units = ((1e6, "MB"), (1e3, "kB"), (1, "bytes"))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: next(f"{value / n:g} {unit}" for n, unit in units if value >= n)))
    axes.set_ylabel("microseconds", fontsize=9)
    axes.grid(color=PLACEHOLDER["grid"], linewidth=0.8)
    style(axes, "A storage of each size, made, filled and dropped")
    legend(canvas, series)
    return canvas, [file]


def files(results):
    """Loading files."""
    series = {"torch, a map of the file": "ours", "torch, a copy": "ours-2", "Python, a map": "other", "Python, a copy": "other-2"}
    canvas, axes = figure(9.6, 4.4)
    file = results.file(r"formats\.python")
    ticks, labels, at = [], [], 0.0
    for kind in ("safetensors", "npy", "npz"):
        mapped = results.row(file, f"torch.{kind}.load(path)", "mapping")
        copied = results.row(file, f"torch.{kind}.load(path, {{mmap=false}})", "copying", "load_file, load")
        ticks.append(at + 1.5)
        labels.append(f"{kind},\n1 GiB")
        for name, value in zip(series, (median(mapped), median(copied), reference(mapped), reference(copied))):
            axes.barh(at, value, 0.8, color=PLACEHOLDER[series[name]])
            axes.text(value * 1.12, at, f"{value:.2g} ms" if value < 10 else f"{value:.0f} ms", va="center", color=PLACEHOLDER["faint"], fontsize=8.5)
            at += 1
        at += 0.8
    axes.set_yticks(ticks, labels)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(0.008, 6000)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.grid(axis="x", color=PLACEHOLDER["grid"], linewidth=0.8)
    axes.set_xlabel("milliseconds; each step of the scale is ten times the one before", fontsize=9)
    style(axes, "Loading a file of 1 GiB that is in the system's cache")
    legend(canvas, series)
    return canvas, [file]


PICTURES = {"elements": elements, "bulk": bulk, "growth": growth, "files": files}


def caption(canvas, sources):
    """What the figures are, at the bottom of a picture."""
    facts = sources[0][1]
    words = f"{facts['machine']}; {facts['versions']}; {facts['date'][:10]}; medians; bench/{facts['benchmark']}"
    canvas.supxlabel(words, fontsize=7.5, color=PLACEHOLDER["faint"], x=0.01, ha="left")


def save(canvas, path, results):
    """Writes a picture, the same bytes for the same figures."""
    description = "Benchmark, section, case, unit, minimum, median, reference, its minimum, its median, ratio:\n" + "\n".join(dict.fromkeys(results.used))
    canvas.savefig(path, metadata={"Date": None, "Creator": None, "Description": description})
    pyplot.close(canvas)
    text = path.read_text()
    light = "".join(f"--{name}:{colours[1]};" for name, colours in COLOURS.items())
    dark = "".join(f"--{name}:{colours[2]};" for name, colours in COLOURS.items())
    for name, colours in COLOURS.items():
        text = text.replace(colours[0], f"var(--{name})")
    rule = f"<style>:root{{{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}</style>"
    text = re.sub(r"(<svg [^>]*>)", lambda start: start[1] + "\n " + rule, text, count=1)
    path.write_text(re.sub(r"[ \t]+\n", "\n", text))


def main(folder="bench/results", output="docs/pictures"):
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "torch-storage", "font.family": "sans-serif"})
    Path(output).mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        results = Results(folder)
        canvas, sources = draw(results)
        caption(canvas, sources)
        save(canvas, Path(output) / f"{name}.svg", results)
        print(Path(output) / f"{name}.svg")


if __name__ == "__main__":
    main(*sys.argv[1:])
