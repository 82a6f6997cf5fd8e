"""Molecules as texts: tokens, files, splits, canvases with a scaffold, and the filter of training molecules."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest
import torch

from infogain.errors import InputError
from infogain.text.alphabet import EOS, MASK
from infogain.zoo.card import page
from infogain.zoo.molecules import chemistry
from infogain.zoo.molecules.bloom import BYTES, BloomFilter
from infogain.zoo.molecules.distribution import Distribution, compact
from infogain.zoo.molecules.sampled import SampledTexts, read_sampled
from infogain.zoo.molecules.scaffolds import read_scaffolds
from infogain.zoo.molecules.smiles import (
    ALPHABET,
    CANVAS,
    TOKENS,
    WIDTH,
    encode_all,
    molecule_of,
    padded,
    read_smiles,
    token_count,
)
from infogain.zoo.molecules.training_set import BLOOM_FILE, reference, reference_distributions, training_molecules
from infogain.zoo.pool import fill
from infogain.zoo.tasks import FileTask, Problem, load_task
from infogain.zoo.tasks.problem import fits
from infogain.zoo.train import main as train
from tests.molecules import ASPIRIN, PARACETAMOL, needs_rdkit

MOLECULES = [
    *(
        "CC(=O)Oc1ccccc1C(=O)O",
        "Clc1ccccc1-c1nc(-c2ccncc2)no1",
        "Brc1cc2c(s1)CCNC2",
        "C#CCNC(=O)C1CCCN1S(=O)(=O)c1cc[nH]c1",
    ),
    *("[H]N=C(N)c1ccc(F)cc1", "c1ccc2c(c1)C1C3C4C5C6CC1C25C346", "C"),
]
TASK = load_task("molecule")


def write(path: Path, smiles: list[str]) -> Path:
    path.write_bytes(gzip.compress("\n".join(["SMILES", *smiles, ""]).encode()))
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A file as MOSES's, of chains that differ in their length and their last atom, and a test file beside it."""
    chains = ["C" * length + last for length in range(1, 50) for last in ("C", "N", "O", "F", "Cl", "Br")]
    write(tmp_path / "test.csv.gz", ["CC", "CCO"])
    return write(tmp_path / "train.csv.gz", sorted(set(chains)))


@pytest.mark.parametrize("smiles", MOLECULES)
def test_a_molecule_in_tokens_is_the_molecule(smiles: str) -> None:
    text = padded(smiles)
    assert len(ALPHABET.encode(text)) == WIDTH
    assert ALPHABET.decode(ALPHABET.encode(text)) == text
    assert molecule_of(text) == smiles
    assert token_count(smiles) == len(ALPHABET.encode(smiles))


def test_many_are_encoded_as_each_is_alone() -> None:
    rows = encode_all(MOLECULES)
    assert (rows.dtype, rows.shape) == (torch.uint8, (len(MOLECULES), WIDTH))
    assert rows.tolist() == [ALPHABET.encode(padded(smiles)) for smiles in MOLECULES]


def test_every_token_is_one_and_nothing_is_two() -> None:
    assert [ALPHABET.encode(token) for token in TOKENS] == [[i] for i in range(len(TOKENS))]
    assert ALPHABET.encode("CCl") == [TOKENS.index("C"), TOKENS.index("Cl")]
    assert len(ALPHABET) == 26


@pytest.mark.parametrize("wrong", ["CCI", "C" * (WIDTH + 1), "CC@"])
def test_what_does_not_fit_is_named(wrong: str) -> None:
    with pytest.raises(InputError, match=f"at most 56 of the tokens .*number 1, '{wrong}"):
        encode_all(["CC", wrong, "CCO"])


def test_files_are_read_in_every_form(tmp_path: Path) -> None:
    forms = {
        "a.csv.gz": gzip.compress(b"SMILES\nCC\nCCO\n"),
        "a.csv.xz": lzma.compress(b"SMILES\nCC\nCCO\n"),
        "a.csv": b"SMILES,SPLIT\nCC,train\nCCO,test\n",
        "a.txt": b"CC\r\nCCO",
    }
    for name, raw in forms.items():
        (tmp_path / name).write_bytes(raw)
        assert read_smiles(tmp_path / name) == ["CC", "CCO"], name
    (tmp_path / "empty").write_bytes(b"SMILES\n")
    with pytest.raises(InputError, match="is empty"):
        read_smiles(tmp_path / "empty")
    with pytest.raises(InputError, match="could not be read"):
        read_smiles(tmp_path / "nowhere.csv.gz")


def test_splits_are_disjoint_and_whole(data: Path) -> None:
    assert isinstance(TASK, FileTask)
    found = {split: {tuple(row) for row in TASK.texts(data, split).tolist()} for split in ("train", "validation")}
    assert not found["train"] & found["validation"]
    assert len(found["train"] | found["validation"]) == len(read_smiles(data))
    assert 0.02 < len(found["validation"]) / len(read_smiles(data)) < 0.2
    assert TASK.texts(data, "test").tolist() == [ALPHABET.encode(padded(smiles)) for smiles in ("CC", "CCO")]


def test_a_pool_is_read_and_its_file_is_asked_for(data: Path) -> None:
    pool = fill(["molecule"], "train", 5, seed=0, data=data)["molecule"]
    assert (pool.tokens.shape, bool(pool.holes.all())) == ((5, WIDTH), True)
    with pytest.raises(InputError, match=r"read from a file, MOSES's train\.csv\.gz\. Name it with --data"):
        fill(["molecule"], "train", 5, seed=0)
    with pytest.raises(InputError, match=r"sudoku do not\. Drop it"):
        fill(["sudoku"], "train", 5, seed=0, data=data)


def test_the_program_learns_molecules_from_a_file(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    without_rdkit(monkeypatch)
    shape = ["--layers", "1", "--width", "16", "--heads", "2", "--intermediate", "16", "--rows", "4", "--steps", "3"]
    train(["--out", str(tmp_path / "m"), "--tasks", "molecule", "--data", str(data), "--device", "cpu", *shape])
    shown = capsys.readouterr().out
    assert (
        "molecule is not scored: judging and drawing molecules needs RDKit: pip install 'infogain[molecules]'" in shown
    )
    written = (tmp_path / "m" / "README.md").read_text()
    assert "26 tokens, trained on texts of MOSES's train.csv.gz" in written
    assert "Validation problems" not in written


def without_rdkit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python refuses to import a module that is None."""
    monkeypatch.setitem(__import__("sys").modules, "rdkit", None)
    chemistry.rdkit_chem.cache_clear()
    monkeypatch.setattr(chemistry, "rdkit_chem", chemistry.rdkit_chem.__wrapped__)


def test_a_check_without_rdkit_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    without_rdkit(monkeypatch)
    problem = TASK.problems(1, "test")[0]
    with pytest.raises(InputError, match=r"pip install 'infogain\[molecules\]'"):
        TASK.check(problem, padded(ASPIRIN))
    assert TASK.missing() == chemistry.NEEDS_RDKIT


def test_the_one_problem_is_an_empty_canvas() -> None:
    (problem,) = TASK.problems(1, "validation")
    assert problem.canvas == CANVAS == MASK * (WIDTH - 1) + EOS
    assert TASK.taught_by is None
    assert load_task("scaffold").taught_by == "molecule"


@needs_rdkit
def test_a_molecule_is_right_up_to_its_end() -> None:
    (problem,) = TASK.problems(1, "test")
    assert TASK.check(problem, problem.solution)
    assert TASK.check(problem, padded("CCO"))
    assert TASK.check(problem, padded("CCO")[:-2] + "(" + EOS)  # behind the first end mark
    for wrong in ("CC(=O", "c1ccccc", "C(C)(C)(C)(C)C", ""):
        assert not TASK.check(problem, padded(wrong)), wrong
    assert not TASK.check(problem, "CCO")  # another width
    assert TASK.check_chat(problem, "One is CCO")
    assert not TASK.check_chat(problem, "")


def test_scaffold_canvases_fit_and_come_once() -> None:
    task, found = load_task("scaffold"), read_scaffolds()
    assert {split: len(own) for split, own in found.items()} == {"test": 600, "validation": 250}
    every = [one for own in found.values() for one in own]
    assert len({one.scaffold for one in every}) == len(every)
    for one in every:
        canvas, written = ALPHABET.encode(one.canvas), ALPHABET.encode(padded(one.smiles))
        assert fits(canvas, written, ALPHABET.mask_id)
        assert 6 <= canvas.count(ALPHABET.mask_id) < WIDTH
        assert one.canvas.count("(") == one.canvas.count(")")
    assert task.problems(3, "test") == task.problems(600, "test")[:3]
    assert task.problems(3, "test", seed=1) != task.problems(3, "test")
    assert {task.split(problem) for problem in task.problems(5, "validation")} == {"validation"}
    with pytest.raises(InputError, match="has 600 test problems"):
        task.problems(601, "test")
    with pytest.raises(InputError, match="for test and validation; got 'train'"):
        task.problems(1, "train")


@needs_rdkit
def test_a_scaffold_is_kept_or_not() -> None:
    task = load_task("scaffold")
    for problem in task.problems(20, "validation"):
        assert task.check(problem, problem.solution)
    benzene = Problem("c1ccccc1", f"____c1ccccc1{MASK * 44}", "")
    assert task.check(benzene, f"CCOCc1ccccc1{EOS * 44}")
    assert not task.check(benzene, f"CCC(c1ccccc1{EOS * 44}")
    assert task.check_chat(benzene, "It is CCc1ccccc1")
    assert not task.check_chat(benzene, "It is CCC1CCCCC1")
    assert "contains c1ccccc1" in task.chat(benzene)


def test_the_filter_forgets_none_and_takes_few_others() -> None:
    bloom = BloomFilter()
    bloom.update(f"member {i}" for i in range(2000))
    assert all(f"member {i}" in bloom for i in range(2000))
    assert bloom.false_positives < 1e-15
    assert sum(f"other {i}" in bloom for i in range(2000)) == 0
    assert 7 not in bloom
    with pytest.raises(InputError, match="must have 2,097,152 bytes; got 3"):
        BloomFilter(b"abc")


def test_the_shipped_filter_is_as_good_as_it_says() -> None:
    bloom, said = BloomFilter.load(BLOOM_FILE), reference()["bloom"]
    assert BLOOM_FILE.stat().st_size == BYTES == said["bytes"] == 2**21
    assert bloom.false_positives == pytest.approx(said["false_positives_computed"])
    assert said["false_positives_measured"] == pytest.approx(said["false_positives_computed"], rel=0.15)
    strangers = sum(f"stranger {i}" in bloom for i in range(20_000)) / 20_000
    assert strangers == pytest.approx(said["false_positives_computed"], rel=0.25)
    for smiles in ("CCCS(=O)c1ccc2[nH]c(=NC(=O)OC)[nH]c2c1", "CC(C)(C)C(=O)C(Oc1ccc(Cl)cc1)n1ccnc1"):  # MOSES's first
        assert smiles in training_molecules()


def test_the_training_set_can_be_read_in_place_of_the_filter(data: Path) -> None:
    assert "CCO" in training_molecules(data)
    assert "c1ccccc1" not in training_molecules(data)


def test_distributions_have_means_quantiles_and_distances() -> None:
    one = Distribution.of([3, 1, 2, 2])
    assert one.mean == 2
    assert [one.quantile(share) for share in (0.0, 0.25, 0.5, 1.0)] == [1, 1, 2, 3]
    assert one.distance(one) == 0
    assert one.distance(Distribution.of([4, 5, 5, 6])) == pytest.approx(3)
    assert Distribution.of([0, 1]).distance(Distribution.of([0, 1], [3, 1])) == pytest.approx(0.25)
    assert Distribution.of([5]).distance(Distribution.of([5, 5])) == 0
    assert one.summary() == {"mean": 2, "q05": 1, "q25": 1, "q50": 2, "q75": 2, "q95": 3}


def test_a_large_sample_becomes_few_points() -> None:
    assert compact([2.0, 1.0, 2.0], 10, 1) == {"values": [1, 2], "weights": [1, 2]}
    values = [i / 1000 for i in range(10_001)]
    few = Distribution.of(**compact(values, 100, 4))
    assert few.distance(Distribution.of(values)) < 0.05
    assert few.mean == pytest.approx(5, abs=0.01)


def test_the_reference_is_of_mosess_training_set() -> None:
    found = reference_distributions()
    assert reference()["molecules"] == 1_584_663
    assert list(found) == ["length", "weight", "logp", "rings"]
    assert found["length"].mean == pytest.approx(35.36858, abs=1e-4)
    assert 300 < found["weight"].mean < 310
    assert float(found["length"].values[-1]) == 54


def test_texts_are_read_from_files_of_both_kinds(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("CC\nCCO\n")
    assert read_sampled(tmp_path / "b.txt") == SampledTexts("b", ["CC", "CCO"], ["", ""])
    (tmp_path / "c.jsonl").write_text('{"text": "CC", "prompt": [], "recipe": {"seed": 1}, "forwards": 3}\n')
    read = read_sampled(tmp_path / "c.jsonl")
    assert (read.name, read.texts, read.costs, read.about["recipe"]) == ("c", ["CC"], {"forwards": [3.0]}, {"seed": 1})
    for name, raw, why in (("d", b'{"text": 3', "JSON lines"), ("e", b"\xff", "UTF-8"), ("f", b"\n", "is empty")):
        (tmp_path / name).write_bytes(raw)
        with pytest.raises(InputError, match=why):
            read_sampled(tmp_path / name)


def test_a_card_of_before_has_its_page_as_it_was() -> None:
    """A card without `texts` says in its settings how many there were."""
    card = {
        "data": {"sudoku": "fill a grid"},
        "settings": {"tasks": "sudoku", "pool": 50, "layers": 1, "width": 16},
        **dict.fromkeys(("parameters", "steps", "tokens", "seconds"), 1),
        "device": "CPU",
        "validation_loss": {"sudoku": 1.0},
        "validation_scores": [],
    }
    assert "50 texts of the training split" in page("m", card)
    assert "one character per token" in page("m", card)
    assert PARACETAMOL in TASK.problems(1, "test")[0].solution
