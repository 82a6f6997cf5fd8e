"""The package's version, for modules that must not import the whole package to know it."""

__version__ = "0.1.0"
