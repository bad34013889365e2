"""The notebooks run from top to bottom as in Jupyter, show something, and are kept without outputs."""

import ast
import asyncio
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

NOTEBOOKS = sorted((Path(__file__).parents[3] / "experiments" / "notebooks").glob("*.ipynb"))


def test_there_are_three() -> None:
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells are plain Python, so no kernel is needed; but as in a kernel an event loop is running around them."""
    matplotlib.use("Agg")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(plt, "show", show)
    names: dict[str, Any] = {"__name__": "__main__"}

    async def run() -> None:
        for source in sources(notebook):
            shown = value(source, notebook.name, names)
            assert not isinstance(shown, Figure), "Jupyter draws it twice"
            assert not isinstance(shown, pl.DataFrame) or not shown.is_empty(), source

    with contextlib.chdir(tmp_path):
        asyncio.run(run())
    assert plt.get_fignums() == []
    assert notebook.stem != "your_own_row" or names["result"].holds


def sources(notebook: Path) -> Iterator[str]:
    for cell in json.loads(notebook.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
            yield "".join(cell["source"])


def value(source: str, name: str, names: dict[str, Any]) -> object:
    """Of a cell: that of its last expression, which Jupyter shows."""
    *body, last = ast.parse(source).body
    if not isinstance(last, ast.Expr):
        exec(compile(source, name, "exec"), names)
        return None
    exec(compile(ast.Module(body, []), name, "exec"), names)
    return eval(compile(ast.Expression(last.value), name, "eval"), names)


def show() -> None:
    """Every figure has lines with points in them."""
    for number in plt.get_fignums():
        lines = [line for axes in plt.figure(number).axes for line in axes.lines]
        assert lines
        assert all(np.size(line.get_xdata()) for line in lines)
    plt.close("all")
