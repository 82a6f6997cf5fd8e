"""Write the tables of docs/antibodies.md and draw its picture, from the JSON of benchmarks/antibody.py."""

from __future__ import annotations

import json
from itertools import takewhile
from pathlib import Path
from typing import Any

from infogain.evals.intervals import Interval, stored
from infogain.report import plots
from infogain.report.numbers import grouped, number, percent
from infogain.report.plots import Axes, Figure

ROOT = Path(__file__).parent.parent
PAGE, NUMBERS = ROOT / "docs" / "antibodies.md", ROOT / "benchmarks" / "results" / "antibody.json"
TAU = 0.7  # that the page shows, where it does not say otherwise
SAMPLERS = ("entropy", "confidence (drawn)", "lookum", "info-gain", "info-gain:validated")
LOOK_AHEAD = SAMPLERS[2:]
DEFAULT = "info-gain:validated"
ENOUGH = 12  # chains: of fewer, no mask rate is claimed
CLOSE = 0.05  # a model that is too sure by less than this is about as right as it is sure
Line = dict[str, Any]


def read() -> Line:
    report: Line = json.loads(NUMBERS.read_text(encoding="utf-8"))
    return report


def find(lines: list[Line], **where: Any) -> Line:
    """The one line with these values."""
    (line,) = [line for line in lines if all(line[key] == value for key, value in where.items())]
    return line


def interval(line: Line, name: str) -> Interval:
    return stored(line[name], line[f"{name}_interval"])


def gap(line: Line, name: str, digits: int, scale: float = 1.0) -> str:
    """The difference from `entropy` with its interval; nothing for `entropy` itself."""
    return interval(line, name).show(digits, scale, signed=True) if name in line else "–"


def loop_example(report: Line) -> list[list[str]]:
    """What each sampler writes into the example's loop."""
    (own,) = report["native_loops"]["example"]
    rows = [["the chain's own", "–", f"`{own['loop']}`", "–", number(own["pll"], 2), "–"]]
    for line in report["loops"]:
        found = line["example"]
        measured = [percent(found["recovered"]), number(found["pll"], 2), grouped(found["columns"])]
        rows.append([f"`{line['sampler']}`", number(line["tau_token"]), f"`{found['loop']}`", *measured])
    return [["sampler", "τ_token", "loop", "recovered, %", "log p per residue", "columns run"], *rows]


def loop_means(report: Line) -> list[list[str]]:
    """How samplers do on the loops of all chains."""
    rows = []
    for line in report["loops"]:
        measured = [interval(line, "recovered").as_share().show(1, 100), gap(line, "recovered_gap", 1, 100)]
        measured += [interval(line, "pll").show(2), gap(line, "pll_gap", 2), grouped(line["columns"])]
        rows.append([f"`{line['sampler']}`", number(line["tau_token"]), *measured])
    heads = ["recovered, %", "less `entropy`, points", "log p per residue", "less `entropy`", "columns run"]
    return [["sampler", "τ_token", *heads], *rows]


def rate_gaps(report: Line, k: int) -> list[list[str]]:
    """Recovery with `entropy`, and what looking ahead changes, at every rate."""
    rows = []
    for rate in report["rates"]:
        where = {"k": k, "tau_token": TAU, "rate": rate}
        base = find(report["cells"], sampler="entropy", **where)
        ours = [find(report["cells"], sampler=name, **where) for name in LOOK_AHEAD]
        gaps = [gap(line, "recovered_gap", 1, 100) for line in ours]
        rows.append([f"{100 * rate:.0f} %", interval(base, "recovered").as_share().show(1, 100), *gaps])
    return [["masked", "`entropy` recovers, %", *(f"`{name}`" for name in LOOK_AHEAD)], *rows]


def calibration(report: Line) -> list[list[str]]:
    """How sure the model is, and how often it is right."""
    rows = []
    for line in report["calibration"]:
        measured = [percent(line["top1"]), percent(line["accuracy"]), gap(line, "overconfidence", 1, 100)]
        measured += [number(line["entropy"], 2), number(line["surprisal"], 2)]
        rows.append([f"{100 * line['rate']:.0f} %", *measured])
    heads = ["mean top-1 probability, %", "top-1 right, %", "too sure by, points"]
    return [["masked", *heads, "mean entropy, nats", "mean −log p of the chain's own residue"], *rows]


def tables(report: Line) -> dict[str, list[list[str]]]:
    """Every table of the page, by its name there."""
    both = {f"rates, K = {k}": rate_gaps(report, k) for k in (1, 2)}
    loops = {"loop of one chain": loop_example(report), "loops of all chains": loop_means(report)}
    return {**loops, **both, "calibration": calibration(report)}


def rates_as_text(rates: list[float]) -> str:
    """Such as `10, 20 and 40 %`."""
    words = [f"{100 * rate:.0f}" for rate in rates]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words) + " %"


def verdict(point: Line) -> str:
    """At which mask rates a sampler certainly recovers more than `entropy`, and at which less."""
    more, less = point["recovered"]["helps"], point["recovered"]["hurts"]
    said = f"more at {rates_as_text(more)}" if more else "more at no mask rate"
    return f"{said}, {f'less at {rates_as_text(less)}' if less else 'less at none'}"


def turning_rate(report: Line, k: int, tau: float = TAU) -> str:
    """The highest mask rate at which looking ahead certainly helps, in a sentence."""
    points = [point for point in report["turning_points"] if (point["k"], point["tau_token"]) == (k, tau)]
    most = max((rate for point in points for rate in point["recovered"]["helps"]), default=None)
    head = f"With {('one residue', 'two residues')[k - 1]} a step, at τ_token {number(tau)}"
    if most is None:
        return f"{head}, **no sampler that looks ahead certainly recovers more than `entropy`, at any mask rate**."
    who = [f"`{point['sampler']}`" for point in points if most in point["recovered"]["helps"]]
    return (
        f"{head}, **looking ahead certainly helps up to {100 * most:.0f} % masked** ({', '.join(who)}), and not beyond."
    )


def calibration_sentence(report: Line) -> str:
    """Up to which mask rate the model is as right as it is sure, and how far it is off where all is masked."""
    lines = report["calibration"]
    good = [line["rate"] for line in takewhile(lambda line: line["overconfidence"] < CLOSE, lines)]
    full, near = lines[-1], find(lines, rate=0.9)
    said = f"Up to {100 * max(good, default=0):.0f} % masked, AntiBERTy is right about as often as it is sure: its "
    said += f"likeliest residues are too probable by less than {100 * CLOSE:.0f} points. At 90 % masked they have a "
    said += (
        f"probability of {percent(near['top1'])} %, and {percent(near['accuracy'])} % of them are right; where all is "
    )
    said += "masked, "
    return f"{said}{percent(full['top1'])} and {percent(full['accuracy'])} %."


def band_sentence(report: Line, k: int, band: str) -> str:
    """What the default changes in the mean of some mask rates."""
    line = find(report["pooled"], sampler=DEFAULT, k=k, tau_token=TAU, rates=band)
    return f"{gap(line, 'recovered_gap', 1, 100)} points"


def too_few(report: Line) -> str:
    """What is said in place of a claim where few chains were decoded; empty where they are enough."""
    count = len(report["chains"]["rates"])
    return f"Only {count} chains were decoded at all mask rates, so no rate is claimed." if count < ENOUGH else ""


def findings(report: Line) -> str:
    """What to take from the page, as a list."""
    if few := too_few(report):
        head = f"- **At which mask rate looking ahead stops helping is not decided.** {few}"
        return "\n- ".join([head, calibration_sentence(report), loop_sentence(report)])
    bands = ("up to .3", ".4 to .8", ".9 and 1")
    low, middle, high = (f"{band_sentence(report, 1, band)} and {band_sentence(report, 2, band)}" for band in bands)
    pooled = (
        f"The default, `{DEFAULT}`, less `entropy`, with one and with two residues a step: {low} in the mean of mask "
        f"rates up to 30 %, {middle} at 40 to 80 %, {high} at 90 and 100 %."
    )
    turns = "\n- ".join(turning_rate(report, k) for k in (1, 2))
    return "\n- ".join([f"- {turns}", pooled, calibration_sentence(report), loop_sentence(report)])


def loop_sentence(report: Line) -> str:
    """What looking ahead changes in loops, beside a greedy order and beside drawing nothing."""
    ours, greedy = (find(report["loops"], sampler=name, tau_token=TAU) for name in (DEFAULT, "confidence (drawn)"))
    cold = find(report["loops"], sampler="entropy", tau_token=0.0)
    lead, other = (f"{gap(line, 'recovered_gap', 1, 100)} points" for line in (ours, greedy))
    said = (
        f"In loops at τ_token {TAU}, the default recovers {lead} more than `entropy`, and `confidence` (drawn), which "
    )
    said += f"is greedy, {other}. `entropy` without temperature recovers {percent(cold['recovered'])} %, and the "
    return f"{said}default at {TAU} {percent(ours['recovered'])} %."


def looking(report: Line) -> str:
    """How many candidates a step of the default ran in the mean, by the columns that ran."""

    def columns(sampler: str, k: int) -> float:
        cells = [
            cell for cell in report["cells"] if (cell["sampler"], cell["k"], cell["tau_token"]) == (sampler, k, TAU)
        ]
        return sum(float(cell["columns"]) for cell in cells)

    one, two = (number(columns(DEFAULT, k) / columns("entropy", k), 2) for k in (1, 2))
    said = (
        f"Over all mask rates the default ran {one} times the columns of `entropy` with one residue a step, and {two} "
    )
    return f"{said}times with two, where eight candidates in every step would be eight times."


def verdicts(report: Line) -> str:
    """Every sampler that looks ahead, with every setting."""
    if few := too_few(report):
        return few
    lines = []
    for point in report["turning_points"]:
        how = f"`{point['sampler']}`, K = {point['k']}, τ_token {number(point['tau_token'])}"
        lines.append(f"- {how}: {verdict(point)}")
    return "\n".join(lines)


def sizes(report: Line) -> str:
    """How much was measured."""
    names = ("rates", "loops", "calibration")
    rates, loops, sure = (len(report["chains"][what]) for what in names)
    ways, draws, more = (report["repeats"][what] for what in names)
    return (
        f"Measured were {rates} chains at {len(report['rates'])} mask rates (ways of masking each: {ways}), the loops "
        f"of {loops} chains (draws of each: {draws}), and calibration with {sure} (ways of masking each: {more})."
    )


def costs(report: Line) -> str:
    """What the measurement took, and what was predicted."""
    said = []
    for what, cost in report["cost"].items():
        ran, thought = (grouped(cost[name] / 1e6, 2) for name in ("columns", "predicted_columns"))
        took, guess = (grouped(cost[name] / 60) for name in ("seconds", "predicted_seconds"))
        said.append(f"{what} {ran} million columns in {took} minutes ({thought} million in {guess} were predicted)")
    return f"It took, all processes added up, on {report['provenance']['device']}: {'; '.join(said)}."


def texts(report: Line) -> dict[str, str]:
    """Every text of the page that is made of numbers, by its name there."""
    made = {name: markdown(table) for name, table in tables(report).items()}
    return {
        **made,
        "findings": findings(report),
        "looking": looking(report),
        "verdicts": verdicts(report),
        "sizes": sizes(report),
        "costs": costs(report),
    }


def markdown(table: list[list[str]]) -> str:
    head, *rows = (f"| {' | '.join(row)} |" for row in table)
    return "\n".join([head, "|" + "---|" * len(table[0]), *rows])


def with_numbers(page: str, report: Line) -> str:
    """The page, with what stands between its marks made of the numbers."""
    for name, text in texts(report).items():
        begin, end = f"<!-- made: {name} -->", "<!-- end -->"
        if page.count(begin) != 1:
            raise ValueError(f"the page must have the mark of {name!r} once.")
        before, _, rest = page.partition(begin)
        page = f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}"
    return page


def draw(figure: Figure, report: Line) -> None:
    """What is recovered, what looking ahead changes with one and with two tokens a step, and how sure the model is."""
    grid: Any = figure.subplots(2, 2, sharex=True)
    (first, second), (third, fourth) = grid
    draw_recovered(first, report, 2)
    draw_gaps(second, report, 1)
    draw_gaps(third, report, 2)
    draw_calibration(fourth, report)
    for axes in (third, fourth):
        axes.set_xlabel("residues masked, %")


def chains(report: Line, what: str) -> str:
    """How many chains a panel shows."""
    return f", {len(report['chains'][what])} chains"


def style(name: str) -> dict[str, Any]:
    """A sampler's line: greedy orders are dashed."""
    colour = {"entropy": plots.BLACK, "info-gain": plots.BLUE, "lookum": plots.SKY}.get(name, plots.colour(name))
    dashes = "-" if name in LOOK_AHEAD else "--"
    return {"color": colour, "linestyle": dashes, "marker": "o", "markersize": 3.5, "linewidth": 1.6, "label": name}


def draw_recovered(axes: Axes, report: Line, k: int) -> None:
    for name in SAMPLERS:
        own = [find(report["cells"], sampler=name, k=k, tau_token=TAU, rate=rate) for rate in report["rates"]]
        axes.plot([100 * line["rate"] for line in own], [100 * line["recovered"] for line in own], **style(name))
    plots.tidy(
        axes,
        title=f"native residues recovered, K = {k}, τ_token {TAU}{chains(report, 'rates')}",
        ylabel="%",
        ylim=(0, 100),
    )
    axes.legend(frameon=False, loc="lower left")


def draw_gaps(axes: Axes, report: Line, k: int) -> None:
    axes.axhline(0, color=plots.BLACK, linewidth=1)
    for at, name in enumerate(LOOK_AHEAD):
        own = [find(report["cells"], sampler=name, k=k, tau_token=TAU, rate=rate) for rate in report["rates"]]
        gaps = [interval(line, "recovered_gap") for line in own]
        known = [(100 * line["rate"] + at - 1, g) for line, g in zip(own, gaps, strict=True)]
        ends = [[100 * (g.value - g.low) for _, g in known], [100 * (g.high - g.value) for _, g in known]]
        spots = [x for x, _ in known], [100 * g.value for _, g in known]
        axes.errorbar(*spots, yerr=ends, capsize=2, elinewidth=1, **style(name))
    plots.tidy(
        axes,
        title=f"recovered, less entropy, K = {k}, τ_token {TAU}{chains(report, 'rates')}",
        ylabel="points, 95 % intervals",
    )
    axes.legend(frameon=False, loc="best")


def draw_calibration(axes: Axes, report: Line) -> None:
    rates = [100 * line["rate"] for line in report["calibration"]]
    sure, right = ([100 * line[name] for line in report["calibration"]] for name in ("top1", "accuracy"))
    look: dict[str, Any] = {"marker": "o", "markersize": 3.5, "linewidth": 1.6}
    axes.plot(rates, sure, color=plots.RED, label="how probable the likeliest residue is", **look)
    axes.plot(rates, right, color=plots.BLACK, linestyle="--", label="how often it is right", **look)
    axes.fill_between(rates, right, sure, color=plots.RED, alpha=0.12)
    axes.axvline(15, color=plots.GREY, linewidth=1, linestyle=":")
    axes.annotate("trained here", (16, 4), fontsize=8, color=plots.GREY)
    plots.tidy(
        axes, title=f"calibration, before anything is written{chains(report, 'calibration')}", ylabel="%", ylim=(0, 100)
    )
    axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.14, 0.08))


def main() -> None:
    report = read()
    PAGE.write_text(with_numbers(PAGE.read_text(encoding="utf-8"), report), encoding="utf-8")
    plots.draw([ROOT / "docs" / "img" / "antibody.png"], (11.0, 7.6), lambda figure: draw(figure, report))


if __name__ == "__main__":
    main()
