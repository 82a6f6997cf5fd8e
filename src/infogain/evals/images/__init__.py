"""Images judged: distances of Inception features from those of a reference, and GenEval's rules on what is detected."""
