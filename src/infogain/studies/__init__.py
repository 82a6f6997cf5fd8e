"""The paper's claims, one command away: studies of samplers on the zoo's tasks."""

from collections.abc import Iterable

from infogain.errors import InputError, UnknownName
from infogain.studies.abstract_study import Study
from infogain.studies.beam import BeamStudy
from infogain.studies.candidates import CandidatesStudy
from infogain.studies.correlation import CorrelationStudy
from infogain.studies.draws import DrawsStudy, WritingDrawsStudy
from infogain.studies.frontier import FrontierStudy
from infogain.studies.gain import GainStudy
from infogain.studies.images import ImagesStudy
from infogain.studies.images_lowstep import ImagesLowStepStudy
from infogain.studies.judgement import JudgementStudy
from infogain.studies.lowstep import LowStepStudy
from infogain.studies.memory import MemoryStudy
from infogain.studies.oneway import OneWayStudy
from infogain.studies.overhead import OverheadStudy
from infogain.studies.preset import PresetStudy
from infogain.studies.samplers import SamplersStudy
from infogain.studies.subject import Subject
from infogain.studies.temperature import TemperatureStudy, WritingTemperatureStudy
from infogain.studies.threshold import ThresholdStudy
from infogain.studies.trajectories import TrajectoriesStudy
from infogain.studies.utility import UtilityStudy
from infogain.studies.variety import VarietyStudy
from infogain.studies.writing import WritingStudy
from infogain.studies.written import MOLECULES, TALES

# In the order in which a limited time is best spent.
STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        FrontierStudy(),
        PresetStudy(),
        SamplersStudy(),
        DrawsStudy(),
        OneWayStudy(),
        JudgementStudy(),
        TrajectoriesStudy(),
        CorrelationStudy(),
        CandidatesStudy(),
        BeamStudy(),
        GainStudy(),
        TemperatureStudy(),
        UtilityStudy(),
        ThresholdStudy(),
        OverheadStudy(),
        MemoryStudy(),
        WritingStudy("writing", TALES),
        VarietyStudy("variety", TALES),
        LowStepStudy("lowstep", TALES),
        WritingTemperatureStudy("temperature-tales", TALES),
        WritingDrawsStudy("draws-tales", TALES),
        WritingStudy("writing-molecules", MOLECULES),
        VarietyStudy("variety-molecules", MOLECULES),
        LowStepStudy("lowstep-molecules", MOLECULES),
        WritingTemperatureStudy("temperature-molecules", MOLECULES),
        WritingDrawsStudy("draws-molecules", MOLECULES),
        ImagesLowStepStudy(),
        ImagesStudy(),
    )
}


def load_study(name: str) -> Study:
    if name not in STUDIES:
        raise UnknownName("study", name, STUDIES)
    return STUDIES[name]


def by_model(studies: Iterable[Study], model: str | None = None) -> dict[str, list[Study]]:
    """Studies by the model that they ask: this one, or each its own."""
    found: dict[str, list[Study]] = {}
    for study in studies:
        found.setdefault(model or study.model, []).append(study)
    return found


def check_suits(studies: Iterable[Study], subject: Subject) -> None:
    """Refuse a model that does not know the tasks of a study."""
    for study in studies:
        if not study.suits(subject):
            raise InputError(
                f"study {study.name} asks a model of the zoo that knows its tasks, such as {study.model}; "
                f"{subject.name} does not. Leave --model unset, or give one that does."
            )


__all__ = ["STUDIES", "Study", "by_model", "check_suits", "load_study"]
