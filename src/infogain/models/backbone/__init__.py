"""One transformer for every family: contexts, and forwards run one by one or as recorded graphs."""
