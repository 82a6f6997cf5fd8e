"""Images as codes: a codec that makes a grid of whole numbers of an image and an image of the grid, and its files."""
