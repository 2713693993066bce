"""The style of the demo's page: light and dark, narrow and wide."""

STYLE = """
:root { color-scheme: light dark; --ink: #1f2733; --soft: #626d7f; --page: #fbfaf7; --cell: #ffffff; --rule: #dad6cc;
  --walk: #1d5fae; --drift: #0c857b; --stuck: #fcebe1; --trap: #f6c9b3; --bad: #c2410c; --fine: #dff1e8;
  --flag: #d19a00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e6e1; --soft: #9ca5b4; --page: #14181f; --cell: #1c222c;
  --rule: #3a4350; --walk: #7db4f5; --drift: #5fd0c3; --stuck: #35241d; --trap: #6a3218; --bad: #ff9a6b;
  --fine: #1b3a32; --flag: #ecc04b; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.25rem 3rem; max-width: 64rem; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .7rem; } section + section h1 { margin-top: 4rem; }
h2 { font-size: 1.15rem; margin: 2.6rem 0 .3rem; }
p { margin: .3rem 0 .9rem; max-width: 46rem; }
figcaption span, footer, .note { color: var(--soft); } .note { font-size: .92rem; }
.row { display: grid; grid-template-columns: repeat(auto-fit, minmax(16rem, 1fr)); gap: 1.5rem; }
.charts { grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr)); }
figure { margin: 0; } figcaption { margin-top: .4rem; font-size: .94rem; } figcaption b { display: block; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font-size: 12.5px; } svg text.name { fill: var(--ink); }
.key { display: flex; flex-wrap: wrap; gap: .4rem 1.6rem; font-size: .92rem; margin: .7rem 0 1.2rem; padding: 0; }
.key li { display: flex; align-items: center; gap: .5rem; list-style: none; } .key svg { width: 30px; flex: none; }
.scroll { overflow-x: auto; margin: .9rem 0; }
table { border-collapse: collapse; font-size: .94rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem 1.1rem .3rem 0; text-align: right; border-bottom: 1px solid var(--rule); }
th { font-weight: 600; vertical-align: bottom; } th:first-child, td:first-child { text-align: left; }
.cell { fill: var(--cell); stroke: var(--rule); } .stuck { fill: var(--stuck); }
.trap { fill: var(--trap); } .fine { fill: var(--fine); }
.walk, .drift, .pole { fill: none; stroke-width: 2.1; stroke-linecap: round; stroke-linejoin: round; }
.walk { stroke: var(--walk); } .drift, .in-fine .drift { stroke: var(--drift); }
.in-stuck .drift, .in-trap .drift { stroke: var(--bad); }
.start { fill: none; stroke: var(--ink); stroke-width: 1.4; } .pole { stroke: var(--ink); } .flag { fill: var(--flag); }
.rule { stroke: var(--rule); } polyline { fill: none; stroke-width: 2.6; stroke-linejoin: round; }
polyline.proven { stroke: var(--walk); } polyline.scaled { stroke: var(--drift); stroke-dasharray: 9 4; }
polyline.blind { stroke: var(--bad); stroke-dasharray: 3 3; stroke-width: 3.4; }
polyline.best { stroke: var(--ink); stroke-width: 1.2; } polyline.guide { stroke: var(--soft); stroke-width: 1; }
sup { line-height: 0; }
@media (max-width: 32rem) { svg text { font-size: 14px; } table { font-size: .84rem; }
  th, td { padding-right: .7rem; } }
footer { margin-top: 3.5rem; padding-top: .8rem; border-top: 1px solid var(--rule); font-size: .88rem; }
footer p { max-width: none; }
"""
