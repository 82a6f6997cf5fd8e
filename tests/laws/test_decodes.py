"""The loop gives what it gave: decodes that were written down, over every sampler, family, cache, queue and lane."""

from __future__ import annotations

import pytest

from tests.decodes import Decode, cases, kept, plain

CASES = dict(cases())


def test_every_case_is_kept_and_none_besides() -> None:
    assert set(kept()) == set(CASES)


@pytest.mark.parametrize(("name", "decode"), CASES.items(), ids=CASES)
def test_a_decode_comes_out_as_it_did(name: str, decode: Decode) -> None:
    """Whole numbers alike; H̃ to the digits that every processor gives alike."""
    expected, got = kept()[name], plain(decode())
    assert [{**result, "entropy": None} for result in got] == [{**result, "entropy": None} for result in expected]
    for one, two in zip(got, expected, strict=True):
        assert one["entropy"] == pytest.approx(two["entropy"], rel=1e-9, abs=1e-12)
