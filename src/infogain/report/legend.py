"""What each column of a printed table means. A column name has one meaning, whichever command prints it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

ENTROPY = "entropies of the tokens written, summed, in nats"  # of one text
_TASK = "share of right answers to the problems of that task, in per cent"
_COST_MODEL = "milliseconds of a step as that equation of the paper has it, its constants fitted to these steps"
_PAPER = "the paper's accuracy in per cent, averaged over its tasks, and H̃ of that model"

TASKS_OF_THE_ZOO = ["oneway", "oneway-given", "judgement", "sudoku", "sudoku6", "countdown", "countdown4", "arithmetic"]

EXPLAINED: dict[str, str] = {
    # what was decoded, and how
    "run": "the end of the run's name",
    "task": "which problems",
    "problems": "which set of problems",
    "model": "name of the checkpoint",
    "model and task": "the trained model on a task, or an exact toy (toy:NAME)",
    "sampler": "what decides which columns are written with what",
    "K": "tokens written per step",
    "N": "candidates evaluated per step",
    "γ": "threshold of the bypass: columns with a top-1 probability above it come first in every candidate; 1: off",
    "α": "gain_power: the remaining entropy is divided by (masks left)^α; the paper has 1",
    "φ": "certainty that positions are drawn by",
    "τ_pos": "temperature of positions",
    "τ_token": "temperature of tokens",
    "τ_select": "temperature of the choice among candidates; 0: the best is taken",
    "draws": "random numbers of tokens: fresh for each candidate, shared by those of a step, or fixed for the decode",
    "setting": "options that differ from the paper's",
    "setting or sampler": "options of info-gain that differ from the paper's, or another sampler",
    "option": "which option was changed, alone",
    "value": "what it was set to",
    "block": "columns decoded together",
    "cache": "which K/V of the columns outside the block are kept",
    "budget": "candidates per step, all hypotheses together",
    "width": "hypotheses kept side by side",
    "part": "greedy decoding, a sweep over N, or a sweep over the width of the beam",
    "shape": "whose layers and widths the model has; its weights are random",
    "configurations": "samplers × K × temperatures that r is over",
    # how good
    "pass@1": "right texts in per cent: of each problem over its seeds, then over problems",
    "95 %": "95 % interval over problems",
    "accuracy %": "right answers in per cent, with the 95 % interval where one is given",
    "sound %": "right answers that were reached by right steps, in per cent",
    "average": "mean of the tasks, with its 95 % interval",
    "Avg.": "mean of the tasks shown",
    "texts": "problems × seeds; of an unfinished run, how many of its texts are there",
    "factors begun first %": "decodes whose first step writes a factor, not the product, in per cent",
    "factors finished first %": "decodes that finish both factors before the product, in per cent",
    "verdict written at": "when the verdict is written, from 0 (first step) to 1 (last)",
    "verdict last %": "decodes that write the verdict after all of the reasoning, in per cent",
    "right %": "right answers in per cent of all draws",
    "different right %": "right answers of which each text counts once, in per cent of the draws of a batch or prompt",
    "Fréchet": "distance between a classifier's features of these and of test images, as Gaussians; it depends on n",
    "as asked %": "images that the classifier takes for the class that was asked for, in per cent",
    "spread": "how far features of images asked to be of one class lie apart, over the same of the test images; "
    "1: as varied; an image of a wrong class counts as variety",
    "distinct %": "different images in per cent of all",
    "guidance": "weight of the class: (1 + g) · logits with it − g · logits without it",
    "wins": "good texts beside ones of this baseline that are not, ties as halves, in per cent",
    "consistent %": "tales that hold together, in per cent",
    "valid %": "texts that RDKit reads as a molecule, in per cent",
    "in order %": "stories that neither repeat themselves severely nor are ungrammatical by our rule, in per cent",
    "different %": "different texts in per cent of those from one beginning or of one batch",
    "both %": "good texts of which each counts once, in per cent of those from one beginning or of one batch",
    "novel %": "different molecules that are not in the training set, in per cent",
    "all three %": "different, valid and novel molecules in per cent of all texts of a batch",
    "IntDiv": "1 − mean Tanimoto similarity of all pairs of valid texts",
    **{
        f"W₁ {name}": f"1-Wasserstein distance of the valid texts' {name} from the training set's"
        for name in ("length", "weight", "logp", "rings")
    },
    "scaffold kept %": "valid texts with the given scaffold as a substructure, in per cent",
    "steps": "steps for the whole text, or the fewest at which more than half of the texts are good, with a range",
    "paper: steps": "the fewest steps that the paper has, for 80 tokens of Dream",
    "good with the most steps, %": "good texts with the most steps that were tried, in per cent",
    "on the frontier": "no other has more right answers and no fewer different ones, or the reverse; intervals aside",
    "what counts %": "right answers in per cent; on oneway different right answers; mean of tasks and K",
    "oneway (different)": "different right answers in per cent of the draws of a batch, mean of the batches",
    **dict.fromkeys(TASKS_OF_THE_ZOO, _TASK),
    # what texts are like that are neither right nor wrong
    "words": "words and signs per text, mean over texts",
    **{
        f"distinct-{n}": f"different {what} in per cent of all of them, over all texts of the run"
        for n, what in ((1, "words"), (2, "pairs of words"), (3, "triples of words"))
    },
    "self-BLEU": "BLEU-4 of a text against others of its prompt, or of the run where prompts have one; per cent; mean",
    # what it cost
    "H̃": f"{ENTROPY}; mean over texts",
    "mean H̃": f"H̃ ({ENTROPY}), mean of the tasks",
    "forwards": "calls of the model",
    **dict.fromkeys(("token-forwards", "token-fw"), "columns that ran through the model, all candidates counted"),
    "bypass": "steps with a choice that the bypass filled, so that one candidate was left",
    "bypassed %": "steps with a choice that the bypass filled, so that one candidate was left, in per cent",
    "tok/s": "tokens written per second, scoring excluded",
    "seconds": "time for all problems of the task",
    # J and Proposition 1
    "actions": "actions taken, over all steps",
    "5th percentile": "J (gain less cost, in nats) that 5 % of the actions lie below",
    "median": "median of J",
    "J ≥ −5e-4 %": "actions at most 5e-4 below the bound of 0, in per cent",
    "J > 0 %": "actions above 0, in per cent",
    "positions": "masked columns, over all states looked at",
    "mean": "mean of J over a position's tokens, averaged over positions",
    "largest": "largest mean of J at one position; Proposition 1 says 0 or less",
    "above 0 %": "positions where the mean of J is above 0, in per cent",
    "r": "Pearson's correlation of accuracy and mean H̃, with its 95 % interval",
    # time and memory
    "case": "what was timed",
    "ms/step": "milliseconds of a whole step that opens no block",
    **dict.fromkeys(("forward", "forward ms"), "milliseconds of the model's forward alone"),
    "opening": "milliseconds to open a block",
    "ms/token": "milliseconds per token of whole decodes, block openings counted as greedy's",
    "tokens/s": "tokens written per second of a whole decode",
    "× reading": "time of a step over that of reading every weight once",
    "% matmul": "operations per second, in per cent of those of a large matrix product",
    "candidates": "candidates per row that were evaluated, mean over steps",
    "weights MiB": "the model's weights",
    "K/V MiB": "K/V that contexts hold, at most",
    "logits MiB": "logits of the largest forward",
    "peak MiB": "most memory in use at once; counted on a GPU only",
    "start-up s": "seconds that the first decode takes longer than later ones",
    "over greedy %": "how much more than greedy decoding, in per cent",
    "paper %": "how much more in the paper, in per cent ± spread",
    "over the first": "every number divided by that of the first case",
    "weights read, GB": "bytes of weights that a forward reads",
    "K/V, MB": "bytes of K/V in the cache",
    "10¹² operations, greedy": "operations of a greedy step",
    "10¹² operations, N = 8": "operations of a step with 8 candidates",
    "columns, greedy": "columns that run through the model in a greedy step",
    "columns, N = 8": "columns that run through the model in a step with 8 candidates",
    **dict.fromkeys(("Eq. 26", "Eq. 27", "Eq. 28"), _COST_MODEL),
    # comparisons and verdicts
    "study": "where it is measured",
    "claim": "what the paper says",
    "holds": "whether it does",
    "evidence": "the numbers it rests on, with 95 % intervals",
    "criterion": "what is held against a bound; a line that begins with · continues the one above it",
    "wanted": "the bound",
    "measured": "the number here",
    "number": "which number the line holds",
    "old": "the number in the first file",
    "new": "the number in the second file",
    "new / old": "the change as a factor",
    "change": "better or worse, where it is more than noise",
    "first": "the first run's number",
    "second": "the second run's number",
    "second − first": "mean difference over problems that both runs have",
    "paper": "the paper's numbers",
    "here": "this package's numbers",
    **dict.fromkeys(("Dream", "SDAR", "TraDo"), _PAPER),
}


def meanings(names: Iterable[str], own: Mapping[str, str] | None = None) -> dict[str, str]:
    """Each column and what it means; columns with the same meaning stand together: `SDAR, TraDo`.

    Columns such as `Eq. 26: N · 5.19` and `paper: H̃` are explained by what stands before the colon. Columns that only
    one table has are explained by `own`.
    """
    known, found = {**EXPLAINED, **(own or {})}, dict[str, list[str]]()
    for name in dict.fromkeys(names):
        short = name if name in known else name.partition(":")[0]
        if short in known and short not in found.setdefault(known[short], []):
            found[known[short]].append(short)
    return {", ".join(same): about for about, same in found.items()}
