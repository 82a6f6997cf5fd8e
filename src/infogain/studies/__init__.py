"""The paper's claims, one command away: studies of samplers on the zoo's tasks."""

from infogain.errors import UnknownName
from infogain.studies.abstract_study import Study
from infogain.studies.beam import BeamStudy
from infogain.studies.candidates import CandidatesStudy
from infogain.studies.correlation import CorrelationStudy
from infogain.studies.draws import DrawsStudy
from infogain.studies.frontier import FrontierStudy
from infogain.studies.gain import GainStudy
from infogain.studies.judgement import JudgementStudy
from infogain.studies.memory import MemoryStudy
from infogain.studies.oneway import OneWayStudy
from infogain.studies.overhead import OverheadStudy
from infogain.studies.preset import PresetStudy
from infogain.studies.samplers import SamplersStudy
from infogain.studies.temperature import TemperatureStudy
from infogain.studies.threshold import ThresholdStudy
from infogain.studies.trajectories import TrajectoriesStudy
from infogain.studies.utility import UtilityStudy

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
    )
}


def load_study(name: str) -> Study:
    if name not in STUDIES:
        raise UnknownName("study", name, STUDIES)
    return STUDIES[name]


__all__ = ["STUDIES", "Study", "load_study"]
