"""The order of the studies on a page: the case studies first, then the main table, then the rest."""

ORDER = (
    "oneway",
    "judgement",
    "samplers",
    "preset",
    "trajectories",
    "correlation",
    "beam",
    "temperature",
    "utility",
    "threshold",
    "candidates",
    "gain",
    "memory",
    "overhead",
)
