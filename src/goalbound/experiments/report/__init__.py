"""The report of an experiment: one self-contained page."""

from goalbound.experiments.report.data import report_data
from goalbound.experiments.report.page import report_page, write_report

__all__ = ["report_data", "report_page", "write_report"]
