"""Every sampler of the paper, by name: `samplers.make("info-gain", n=8, tau_pos=0.1)`."""

from infogain.samplers.actions import Drawing, Greedy, LookAhead
from infogain.samplers.ar import AR
from infogain.samplers.base import SAMPLERS, Sampler, Traits
from infogain.samplers.best_of_n import BestOfN
from infogain.samplers.confidence import Confidence
from infogain.samplers.eb import EB
from infogain.samplers.entropy import Entropy
from infogain.samplers.info_gain import InfoGain
from infogain.samplers.info_gain_beam import InfoGainBeam
from infogain.samplers.klass import KLASS
from infogain.samplers.lookum import LookUM
from infogain.samplers.margin import Margin
from infogain.samplers.pc import PC
from infogain.samplers.threshold import Threshold
from infogain.samplers.uniform import Uniform

make = SAMPLERS.make
parse = SAMPLERS.parse

__all__ = [
    "AR",
    "EB",
    "KLASS",
    "PC",
    "SAMPLERS",
    "BestOfN",
    "Confidence",
    "Drawing",
    "Entropy",
    "Greedy",
    "InfoGain",
    "InfoGainBeam",
    "LookAhead",
    "LookUM",
    "Margin",
    "Sampler",
    "Threshold",
    "Traits",
    "Uniform",
    "make",
    "parse",
]
