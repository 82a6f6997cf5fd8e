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
GREEDY, LOOK_AHEAD = SAMPLERS[1], SAMPLERS[2:]
BANDS = ("up to .3", ".4 to .8")  # mask rates that are taken together
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


def marked(line: Line, name: str) -> str:
    """A difference of recovery in points, in bold where its interval leaves out 0."""
    said = gap(line, name, 1, 100)
    return f"**{said}**" if name in line and interval(line, name).above() is not None else said


def rate_gaps(report: Line, k: int) -> list[list[str]]:
    """Recovery with `entropy`, and what other samplers change, at every rate."""
    rows, others = [], (GREEDY, *LOOK_AHEAD)
    for rate in report["rates"]:
        where = {"k": k, "tau_token": TAU, "rate": rate}
        base = find(report["cells"], sampler="entropy", **where)
        gaps = [marked(find(report["cells"], sampler=name, **where), "recovered_gap") for name in others]
        rows.append([f"{100 * rate:.0f} %", interval(base, "recovered").as_share().show(1, 100), *gaps])
    return [["masked", "`entropy` recovers, %", *(f"`{name}`" for name in others)], *rows]


def pooled(report: Line) -> list[list[str]]:
    """What samplers that draw change in the mean of low and of middle mask rates."""
    rows = []
    for line in (line for line in report["pooled"] if line["tau_token"] == TAU):
        how = [f"`{line['sampler']}`", str(line["k"])]
        shown = (marked(line, f"recovered_{key}") for key in ("gap", "lead", "cold"))
        rows.append([*how, {"up to .3": "5 to 30 %", ".4 to .8": "40 to 80 %"}[line["rates"]], *shown])
    heads = ["less `entropy`", f"less `{GREEDY}`", "less `entropy` at τ_token 0"]
    return [["sampler", "K", "masked", *heads], *rows]


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
    return {**loops, **both, "pooled": pooled(report), "verdicts": verdicts(report), "calibration": calibration(report)}


def rates_as_text(rates: list[float]) -> str:
    """Such as `10, 20 and 40 %`."""
    words = [f"{100 * rate:.0f}" for rate in rates]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words) + " %"


def verdict(point: Line) -> str:
    """At which mask rates a sampler certainly recovers more than another, and at which less."""
    found = {"more": point["recovered"]["helps"], "less": point["recovered"]["hurts"]}
    return ", ".join(f"{word} at {rates_as_text(rates)}" for word, rates in found.items() if rates) or "at none"


def verdicts(report: Line) -> list[list[str]]:
    """Every sampler that looks ahead, with every setting, against both greedy orders."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for point in report["turning_points"]:
        how = (f"`{point['sampler']}`", str(point["k"]), number(point["tau_token"]))
        rows.setdefault(how, []).append(verdict(point))
    heads = ["than `entropy`", f"than `{GREEDY}`"]
    return [["sampler", "K", "τ_token", *heads], *([*how, *said] for how, said in rows.items())]


def counted(report: Line, against: str) -> tuple[int, int, int]:
    """How many intervals of recovery there are against a greedy order, and how many say more and less than it."""
    points = [point["recovered"] for point in report["turning_points"] if point["against"] == against]
    more, less = (sum(len(point[word]) for point in points) for word in ("helps", "hurts"))
    return len(points) * len(report["rates"]), more, less


def counted_means(report: Line) -> str:
    """How many intervals of means over several rates there are, and what those at τ_token 0 and above say."""
    said: dict[bool, list[bool | None]] = {True: [], False: []}
    for line in report["pooled"]:
        if line["sampler"] in LOOK_AHEAD:
            said[line["tau_token"] == 0] += [interval(line, f"recovered_{key}").above() for key in ("gap", "lead")]
    drawn, cold = ([found for found in said[no_draws] if found is not None] for no_draws in (False, True))
    of_each, everything = len(said[False]), len(said[False]) + len(said[True])
    return (
        f"Samplers that look ahead have {everything} intervals of such means against both greedy orders, of which two "
        f"or three would leave out 0 by chance. At τ_token {TAU}, {len(drawn)} of {of_each} do, {sum(drawn)} for "
        f"looking ahead and {len(drawn) - sum(drawn)} against it; at τ_token 0, {len(cold)} of {len(said[True])} do."
    )


def turning_rate(report: Line, k: int, tau: float = TAU) -> str:
    """The highest mask rate at which looking ahead certainly recovers more than `entropy`, in a sentence."""
    where = (k, tau, "entropy")
    points = [
        point for point in report["turning_points"] if (point["k"], point["tau_token"], point["against"]) == where
    ]
    most = max((rate for point in points for rate in point["recovered"]["helps"]), default=None)
    head = f"With {('one residue', 'two residues')[k - 1]} a step, at τ_token {number(tau)}, "
    if most is None:
        return f"{head}no sampler that looks ahead certainly recovers more than `entropy`, at any mask rate."
    who = [f"`{point['sampler']}`" for point in points if most in point["recovered"]["helps"]]
    said = f"{head}the highest mask rate at which a sampler that looks ahead certainly recovers more than `entropy` is "
    return f"{said}{100 * most:.0f} % ({', '.join(who)})."


def against_greedy(report: Line) -> str:
    """How many intervals say that looking ahead recovers more, or less, than each greedy order."""
    (number_of, more, less), (_, ahead, behind) = (counted(report, who) for who in ("entropy", GREEDY))
    return (
        f"Three samplers that look ahead, four settings and {len(report['rates'])} mask rates are {number_of} "
        f"intervals. Less `entropy`, {more} of them say more and {less} less; less `confidence` (drawn), {ahead} say "
        f"more and {behind} less. Were nothing changed, some {0.05 * number_of:.0f} of {number_of} would "
        "leave out 0 by chance."
    )


def drawing(report: Line) -> str:
    """What drawing costs `entropy`, and what is left of that with the samplers that win it back."""

    def cold(sampler: str) -> str:
        lines = [find(report["pooled"], sampler=sampler, k=k, tau_token=TAU, rates=b) for k in (1, 2) for b in BANDS]
        one, two, three, four = (gap(line, "recovered_cold", 1, 100) for line in lines)
        return f"{one} and {two} with one residue a step, {three} and {four} with two"

    return (
        f"In points of recovery less `entropy` at τ_token 0, in the mean of mask rates up to 30 % and of 40 to 80 %: "
        f"`entropy` at {TAU} has {cold('entropy')}; the default at {TAU} has {cold(DEFAULT)}."
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


def band_sentence(report: Line, sampler: str, name: str = "recovered_gap") -> str:
    """What a sampler changes in the mean of low and of middle mask rates, with one and with two residues a step."""
    low, middle = (
        " and ".join(
            gap(find(report["pooled"], sampler=sampler, k=k, tau_token=TAU, rates=band), name, 1, 100) for k in (1, 2)
        )
        for band in BANDS
    )
    return f"{low} points at mask rates up to 30 %, {middle} at 40 to 80 %"


def likelihood_sentence(report: Line) -> str:
    """What the default gains over the greedy order in likelihood under the model itself."""
    lines = [find(report["pooled"], sampler=DEFAULT, k=k, tau_token=TAU, rates=band) for k in (1, 2) for band in BANDS]
    one, two, three, four = (gap(line, "pll_lead", 3) for line in lines)
    return (
        f"What the default gains over `confidence` (drawn) is likelihood under the model itself, and little of it: "
        f"{one} nats per residue at mask rates up to 30 % and {two} at 40 to 80 % with one residue a step, {three} and "
        f"{four} with two."
    )


def too_few(report: Line) -> str:
    """What is said in place of a claim where few chains were decoded; empty where they are enough."""
    count = len(report["chains"]["rates"])
    return f"Only {count} chains were decoded at all mask rates, so no rate is claimed." if count < ENOUGH else ""


def findings(report: Line) -> str:
    """What to take from the page, as a list."""
    if few := too_few(report):
        head = f"- **At which mask rate looking ahead stops helping is not decided.** {few}"
        return "\n- ".join([head, calibration_sentence(report), loop_sentence(report)])
    means = (
        f"In the mean of several mask rates, at τ_token {TAU}, with one and with two residues a step, the default, "
        f"`{DEFAULT}`, less `entropy`: {band_sentence(report, DEFAULT)}. `confidence` (drawn), which looks at nothing "
        f"ahead, less `entropy`: {band_sentence(report, GREEDY)}. The default less `confidence` (drawn): "
        f"{band_sentence(report, DEFAULT, 'recovered_lead')}."
    )
    turns = " ".join(turning_rate(report, k) for k in (1, 2))
    said = [against_greedy(report), turns, means, calibration_sentence(report), loop_sentence(report)]
    return "\n".join(f"- {each}" for each in said)


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


def sizes(report: Line) -> str:
    """How much was measured."""
    names = ("rates", "loops", "calibration")
    rates, loops, sure = (len(report["chains"][what]) for what in names)
    ways, draws, more = (report["repeats"][what] for what in names)
    return (
        f"Measured were {rates} chains at {len(report['rates'])} mask rates (ways of masking each: {ways}), the loops "
        f"of {loops} chains (draws of each: {draws}), and calibration with {sure} (ways of masking each: {more}). "
        f"Where all is masked, chains of one length share a canvas, so there are {report['canvases']} of them."
    )


def costs(report: Line) -> str:
    """What the measurement took, and what was predicted."""
    said = []
    for what, cost in report["cost"].items():
        ran, thought = (grouped(cost[name] / 1e6, 2) for name in ("columns", "predicted_columns"))
        took, guess = (grouped(cost[name] / 60) for name in ("seconds", "predicted_seconds"))
        predicted = f"{thought} million in {guess} were predicted"
        said.append(f"{what} {ran} million columns in {took} minutes on {cost['device']} ({predicted})")
    return f"It took, all processes added up: {'; '.join(said)}."


def texts(report: Line) -> dict[str, str]:
    """Every text of the page that is made of numbers, by its name there."""
    made = {name: markdown(table) for name, table in tables(report).items()}
    return {
        **made,
        "findings": findings(report),
        "looking": looking(report),
        "drawing": drawing(report),
        "means": counted_means(report),
        "likelihood": likelihood_sentence(report),
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
    for at, name in enumerate((GREEDY, *LOOK_AHEAD)):
        own = [find(report["cells"], sampler=name, k=k, tau_token=TAU, rate=rate) for rate in report["rates"]]
        gaps = [interval(line, "recovered_gap") for line in own]
        known = [(100 * line["rate"] + at - 1.5, g) for line, g in zip(own, gaps, strict=True)]
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
