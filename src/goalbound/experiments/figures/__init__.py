"""Figures for publications: the only importer of matplotlib, which is imported when a figure is drawn."""

from goalbound.experiments.figures.write import write_figures

__all__ = ["write_figures"]
