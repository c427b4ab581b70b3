"""The plot: every ratio as a bar against its first bar and its goal, and a list's growth."""

from pathlib import Path

from matplotlib.figure import Figure as Canvas

from bench.figures import figures
from bench.outcome import Outcome

_COLOURS = {"goal": "#2e7d32", "first bar": "#f9a825", "below": "#c62828"}
_MOST = 2.0
"""A bar that reaches twice its goal is not drawn further."""


def draw(outcome: Outcome, path: Path) -> None:
    """Writes it as a PNG. 1 is the goal: so figures of every kind fit on one axis."""
    shown = [f for f in figures(outcome) if f.bars.goal is not None]
    if not shown:
        return
    canvas = Canvas(figsize=(9, 1.5 + 0.35 * len(shown)), layout="constrained")
    axes = canvas.subplots()
    for at, figure in enumerate(reversed(shown)):
        goal, first = figure.bars.goal or 1.0, figure.bars.first or 1.0
        less = figure.bars.at_most
        # What is over something else may be nothing, or less.
        least = max(figure.reached, goal / _MOST)
        reached = min(_MOST, goal / least if less else figure.reached / goal)
        axes.barh(at, reached, color=_COLOURS[figure.verdict], height=0.6)
        bar = goal / first if less else first / goal
        axes.plot([bar, bar], [at - 0.4, at + 0.4], color="black", linewidth=2)
        axes.text(reached, at, f" {figure.reached:.3g}", va="center", fontsize=8)
    labels = [f"{f.text}\n{f.how.partition(', ')[0]}" for f in reversed(shown)]
    axes.set_yticks(range(len(shown)), labels, fontsize=7)
    axes.axvline(1, color="#2e7d32", linestyle="--", linewidth=1)
    axes.set_xlabel("share of the goal (dashed); the black mark is the first bar")
    canvas.savefig(path, dpi=130)
