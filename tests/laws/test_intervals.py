"""95 % intervals cover what they say: counted out where texts are single, simulated where problems have several."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from infogain.evals.intervals import (
    Interval,
    Z,
    apart,
    average,
    correlation,
    mean_interval,
    paired_bootstrap,
    ratio,
    share_interval,
    share_intervals,
    student,
)

ENOUGH = 0.93
PROBLEMS = (20, 30, 50, 100, 200, 500)
ACCURACIES = (0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.98, 0.99)
TEXTS = 5  # of each problem
SHARES = 1_000_000  # drawn for each point of the grid, 4,000 samples of problems at most


def right(problems: int, accuracy: float, correlation: float, generator: torch.Generator) -> Tensor:
    """Shares of right texts: a problem's texts are one draw with this probability, and else drawn each. [T, P]"""
    u = torch.rand(min(4000, SHARES // problems), problems, TEXTS + 2, generator=generator)
    each, shared = (u[..., :TEXTS] < accuracy).float().mean(-1), (u[..., TEXTS] < accuracy).float()
    return torch.where(u[..., TEXTS + 1] < correlation, shared, each).double()


def covered(low: Tensor, high: Tensor, accuracy: float) -> Tensor:
    return ((low <= accuracy + 1e-9) & (accuracy - 1e-9 <= high)).double()


def wald(shares: Tensor) -> tuple[Tensor, Tensor]:
    half = Z * (shares.var(-1) / shares.shape[-1]).sqrt()
    return shares.mean(-1) - half, shares.mean(-1) + half


@pytest.mark.slow
@pytest.mark.parametrize("problems", PROBLEMS)
def test_shares_of_problems_with_several_texts_are_covered(problems: int) -> None:
    generator = torch.Generator().manual_seed(problems)
    least, least_wald = 1.0, 1.0
    for accuracy in ACCURACIES:
        for correlation_ in (0.0, 0.3, 0.8):
            shares = right(problems, accuracy, correlation_, generator)
            _, low, high = share_intervals(shares, problems * TEXTS)
            least = min(least, float(covered(low, high, accuracy).mean()))
            least_wald = min(least_wald, float(covered(*wald(shares), accuracy).mean()))
    assert least >= ENOUGH
    assert least_wald < ENOUGH  # what the grid is for


@pytest.mark.parametrize("problems", PROBLEMS)
def test_shares_of_single_texts_are_covered(problems: int) -> None:
    """Every outcome with its probability: no noise. Wilson's interval alone has .911 at 50 problems and .99."""
    shares = torch.ones(problems + 1, problems).tril(-1).double()  # k right, k = 0 … P
    p, low, high = share_intervals(shares, problems)
    k = p * problems
    log_ways = torch.lgamma(torch.tensor(problems + 1.0)) - torch.lgamma(k + 1) - torch.lgamma(problems - k + 1)
    for percent in range(60, 100):
        accuracy = percent / 100
        chance = (log_ways + k * math.log(accuracy) + (problems - k) * math.log(1 - accuracy)).exp()
        assert float((chance * covered(low, high, accuracy)).sum()) >= ENOUGH


def test_texts_of_a_problem_count_between_one_and_as_many_as_they_are() -> None:
    """Between the number of problems, where a problem's texts agree, and that of texts, where they are unrelated."""
    widths = []
    for shares in ([1.0, 0.0] * 50, [0.8, 0.2] * 50, [0.6, 0.4] * 50):
        _, low, high = share_interval(shares, texts=500)
        widths.append(high - low)
    as_problems, as_texts = (2 * Z * math.sqrt(0.25 / (n + Z**2)) for n in (100, 500))  # Wilson's at one half
    assert widths[0] == pytest.approx(as_problems)
    assert widths[2] == pytest.approx(as_texts)
    assert as_texts < widths[1] < as_problems


def test_a_perfect_score_is_never_certain_nor_above_one() -> None:
    for problems in (1, 5, 32, 500):
        share, low, high = share_interval([1.0] * problems, 5 * problems)
        assert (share, high) == (1.0, 1.0)
        assert low < 1 - 1 / (2 * problems)
        assert share_interval([0.0] * problems, 5 * problems)[1:] == pytest.approx((0.0, 1 - low))


def test_means_have_students_interval() -> None:
    table = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 9: 2.262, 19: 2.093, 99: 1.984, 499: 1.965}
    for freedom, quantile in table.items():
        assert student(freedom) == pytest.approx(quantile, rel=2e-3)
    assert mean_interval([1.0, 2.0, 3.0]) == pytest.approx((2.0, 2 - 4.30265 / 3**0.5, 2 + 4.30265 / 3**0.5))
    single = mean_interval([3.0])
    assert (single.value, single.plain(), single.show()) == (3.0, None, "3.0 [–]")


def test_means_of_few_values_are_covered() -> None:
    values = torch.randn(4000, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    covers = [low <= 0 <= high for _, low, high in map(mean_interval, values.tolist())]
    assert sum(covers) / len(covers) == pytest.approx(0.95, abs=0.012)  # the normal interval has .88


def test_what_an_interval_holds_is_not_decided() -> None:
    assert Interval(0.1, -0.1, 0.3).above() is None
    assert Interval(0.0, 0.0, 0.0).above() is None
    assert Interval(1.0, math.nan, math.nan).above() is None
    assert Interval(0.2, 0.1, 0.3).above() is True
    assert Interval(0.2, 0.1, 0.3).above(0.5) is False
    assert Interval(0.2, 0.1, 0.3).below(0.5) is True


def test_a_single_problem_tells_nothing_of_a_difference() -> None:
    assert paired_bootstrap([1.0]).plain() is None
    assert paired_bootstrap([1.0] * 9, [1.0]).plain() is None
    assert paired_bootstrap([0.0] * 9).plain() is None  # of no known scale


def test_a_difference_is_never_certain() -> None:
    """Problems that differ otherwise may not have come up yet: two gains decide nothing, nor do twenty ties."""
    assert paired_bootstrap([1.0, 1.0], most=1.0) == (1.0, -1.0, 1.0)
    assert paired_bootstrap([3.0, 3.1]).above() is None
    _, low, high = paired_bootstrap([0.0] * 20, most=1.0)
    assert low < -0.05 < 0.05 < high
    assert paired_bootstrap([1.0] * 20, most=1.0).above() is True
    value, low, high = paired_bootstrap([1.0] * 9, [0.0] * 4, most=1.0)
    assert low < value == 0.5 < high


def flips(problems: int, gained: float, lost: float) -> list[tuple[int, int, float]]:
    """Every outcome that is not too rare: problems gained, lost, and its chance."""
    gone = math.lgamma(problems + 1)
    found = []
    for a in range(problems + 1 if gained else 1):
        for b in range(problems + 1 - a if lost else 1):
            rest = problems - a - b
            ways = gone - math.lgamma(a + 1) - math.lgamma(b + 1) - math.lgamma(rest + 1)
            logs = [n * math.log(p) for n, p in ((a, gained), (b, lost), (rest, 1 - gained - lost)) if n]
            found.append((a, b, math.exp(ways + math.fsum(logs))))
    return [outcome for outcome in found if outcome[2] > 1e-3]


def coverage(problems: int, gained: float, lost: float) -> tuple[float, float]:
    """That of the paired bootstrap, and that of problems drawn among themselves alone."""
    found = [0.0, 0.0]
    for a, b, chance in flips(problems, gained, lost):
        gaps = [1.0] * a + [-1.0] * b + [0.0] * (problems - a - b)
        for which, most in enumerate((1.0, 1e-12)):
            _, low, high = paired_bootstrap(gaps, most=most)
            found[which] += chance * (low - 1e-9 <= gained - lost <= high + 1e-9)
    return found[0], found[1]


@pytest.mark.parametrize("problems", [20, 30, 50, 100, 500])
def test_differences_of_few_problems_are_covered(problems: int) -> None:
    """Counted out, but for outcomes rarer than a thousandth, which count as misses."""
    found = [coverage(problems, count / problems, 0.0) for count in (0.5, 1, 2, 3, 4, 6)]
    found += [coverage(problems, 1.5 / problems, 0.5 / problems)]
    found += [coverage(problems, gained, 0.0) for gained in (0.6, 0.8, 0.9, 0.97) if problems <= 100]
    assert min(new for new, _ in found) >= ENOUGH
    assert min(alone for _, alone in found) < 0.7  # what the two problems more are for


def test_differences_without_a_bound_are_covered() -> None:
    values = 1 + torch.randn(300, 20, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    covers = [low <= 1 <= high for _, low, high in map(paired_bootstrap, values.tolist())]
    assert sum(covers) / len(covers) >= ENOUGH


def test_a_verdict_agrees_with_the_digits_that_are_shown() -> None:
    found = Interval(-0.034, -0.064, -0.004)
    assert found.above() is False
    assert found.rounded(2).above() is None
    assert found.rounded(2).show(2) == found.show(2) == "−0.03 [−0.06, 0.00]"
    assert Interval(1.0, math.nan, math.nan).rounded(2).above() is None


def test_every_task_is_drawn_anew_by_itself() -> None:
    """The mean of two tasks varies by half of their pooled spread, whichever sizes they have."""
    one, other = [1.0, 0.0] * 50, [1.0, -1.0] * 100
    _, low, high = paired_bootstrap(one, other)
    alone = [paired_bootstrap(task) for task in (one, other)]
    assert high - low == pytest.approx(math.hypot(*(found.high - found.low for found in alone)) / 2, rel=0.05)


def test_intervals_of_what_is_made_of_several() -> None:
    parts = [Interval(0.5, 0.2, 0.6), Interval(0.7, 0.3, 0.9)]
    assert average(parts) == pytest.approx((0.6, 0.35, 0.6 + math.hypot(0.1, 0.2) / 2))
    assert apart(*parts) == pytest.approx((-0.2, -0.2 - math.hypot(0.3, 0.2), -0.2 + math.hypot(0.1, 0.4)))
    found = ratio(Interval(2.0, 1.8, 2.2), Interval(1.0, 1.0, 1.0))
    assert found == pytest.approx((2, 2 * math.exp(-0.1), 2 * math.exp(0.1)))
    assert correlation([1, 2, 3, 4, 5], [2, 1, 4, 3, 5]) == pytest.approx((0.8, -0.279, 0.986), abs=1e-3)
    assert correlation([1, 2, 3], [3, 2, 1]).plain() is None


@pytest.mark.parametrize(
    ("interval", "shown"),
    [
        (Interval(0.97, 0.847, 0.995), "97.0 [84.7, 99.5]"),
        (Interval(-0.0001, -0.02, 0.0), "0.0 [−2.0, 0.0]"),
    ],
)
def test_intervals_are_written_in_one_form(interval: Interval, shown: str) -> None:
    assert interval.show(scale=100) == shown
    assert Interval(0.01, -0.004, 0.03).show(scale=100, signed=True) == "+1.0 [−0.4, +3.0]"
