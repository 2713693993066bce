"""Figures for publications: the only importer of matplotlib, which is imported when a figure is drawn."""

from goalbound.experiments.figures.write import CAPTIONS, write_figures

__all__ = ["CAPTIONS", "write_figures"]
