"""Pages for people to look at: one self-contained HTML file each, with charts that need no network.

``style`` has the colours, dashes and markers of lines, ``charts`` describes charts as plain values, ``page`` puts them
into a page by a template. The pages of experiments, of the demo, of logs and of the guarantees are made here
(docs/decisions/0017-charts.md).
"""
