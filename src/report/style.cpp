#include "report/assets.h"

namespace ick::detail {

const char* const kPageStyle = R"css(
*, *::before, *::after { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1.5rem; -webkit-text-size-adjust: 100%; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body { margin: 0; background: var(--page); color: var(--ink); line-height: 1.6; font-size: 1rem;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", Arial, sans-serif;
  overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
a { color: var(--model); text-underline-offset: 0.2em; }
:focus-visible { outline: 3px solid var(--model); outline-offset: 3px; border-radius: 3px; }
.skip { position: absolute; left: -100vw; top: 0.5rem; background: var(--page); padding: 0.5rem 1rem; z-index: 9; }
.skip:focus { left: 0.5rem; }
.page { max-width: 74rem; margin: 0 auto; padding: 0 1.5rem 6rem; display: grid; column-gap: 4rem;
  grid-template-columns: minmax(0, 13rem) minmax(0, 50rem); justify-content: center; }
main { min-width: 0; outline: none; }

.toc { font-size: 0.875rem; line-height: 1.4; }
.toc > div { position: sticky; top: 0; padding: 3.5rem 0 2rem; max-height: 100vh; overflow-y: auto; }
.toc h2 { font-size: 0.75rem; letter-spacing: 0.08em; text-transform: uppercase; color: var(--muted); margin: 0 0 0.6rem; }
.toc ol { list-style: none; margin: 0; padding: 0; border-left: 1px solid var(--border); }
.toc a { display: block; padding: 0.3rem 0 0.3rem 0.9rem; margin-left: -1px; border-left: 2px solid transparent;
  color: var(--muted); text-decoration: none; }
.toc a:hover { color: var(--ink); }
.toc a[aria-current] { color: var(--model); border-color: var(--model); font-weight: 600; }

header { padding: 3.5rem 0 1.75rem; }
.kind { margin: 0 0 0.75rem; font-size: 0.75rem; letter-spacing: 0.08em; text-transform: uppercase; color: var(--muted); }
h1 { margin: 0; font-size: clamp(1.15rem, 2.6vw, 1.6rem); line-height: 1.4; font-weight: 600; }
.subtitle { margin: 0.6rem 0 0; color: var(--muted); }
h2 { font-size: 1.35rem; line-height: 1.3; font-weight: 650; margin: 0 0 1rem; letter-spacing: -0.01em; }
h3 { font-size: 1rem; line-height: 1.4; font-weight: 650; margin: 0 0 0.5rem; }
p { margin: 0 0 1rem; }
.part { min-width: 0; }

.verdict { background: var(--panel); border-left: 4px solid var(--model); border-radius: 0 8px 8px 0;
  padding: 1.1rem 1.4rem; font-size: 1.125rem; line-height: 1.55; }
.verdict p { margin: 0; }
.remarks { list-style: none; margin: 1rem 0 0; padding: 0; display: grid; gap: 0.5rem; }
.remarks li { display: grid; grid-template-columns: 5.2rem 1fr; gap: 0.75rem; align-items: baseline;
  padding: 0.55rem 1rem; border: 1px solid var(--border); border-radius: 8px; }
.remarks b { font-size: 0.75rem; letter-spacing: 0.05em; text-transform: uppercase; }
.remarks .warning { border-color: var(--bad); }
.remarks .warning b { color: var(--bad); }
.remarks .good b { color: var(--good); }
.remarks .note b { color: var(--muted); }

.headline { margin: 2rem 0 0; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: 0.75rem; margin: 0; }
.card { border: 1px solid var(--border); border-radius: 10px; padding: 0.9rem 1.1rem 1rem; min-width: 0; }
.card dt { font-size: 0.8125rem; color: var(--muted); line-height: 1.35; }
.card dd { margin: 0; }
.card .value { font-size: 1.65rem; line-height: 1.3; font-weight: 600; letter-spacing: -0.01em; }
.card .words { font-size: 1.1rem; }
.card .beside { font-size: 0.8125rem; color: var(--muted); line-height: 1.45; }
.card.best { border-color: var(--model); box-shadow: inset 0 3px 0 var(--model); }
.remark-below, figcaption, .table-part > p { color: var(--muted); font-size: 0.9rem; line-height: 1.55; }
.remark-below { margin: 0.6rem 0 0; }

section.part-of { margin-top: 3.5rem; padding-top: 2.25rem; border-top: 1px solid var(--border); }
.parts { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 2rem; }
.parts > * { grid-column: 1 / -1; margin: 0; }
.parts > .half { grid-column: auto; }
.parts > .half.alone { grid-column: 1 / -1; display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr);
  column-gap: 2rem; align-items: center; }
.half.alone h3 { grid-column: 1 / -1; }
.parts > p + p { margin-top: -1rem; }

figure { margin: 0; min-width: 0; }
.picture { position: relative; }
.figure { display: block; width: 100%; height: auto; overflow: visible; }
.figure.narrow { display: none; }
figcaption { margin-top: 0.6rem; }
figcaption .small { display: block; font-size: 0.8125rem; }
.plot { overflow: hidden; }
.zoom .plot { cursor: crosshair; touch-action: pan-y; }
.zoom .line path, .zoom .points path, .zoom .rule path { vector-effect: non-scaling-stroke; }
.brush { fill: var(--model); fill-opacity: 0.15; stroke: var(--model); vector-effect: non-scaling-stroke; }
.marker { fill: none; stroke: var(--ink); stroke-width: 1.6; }
.tip { position: absolute; z-index: 3; pointer-events: none; background: var(--ink); color: var(--page);
  font-size: 0.8125rem; line-height: 1.4; padding: 0.35rem 0.6rem; border-radius: 6px; max-width: 18rem; white-space: pre-line; }
.tools { display: flex; gap: 0.35rem; align-items: center; justify-content: flex-end; font-size: 0.8125rem; color: var(--muted); }
button { font: inherit; font-size: 0.8125rem; color: var(--ink); background: var(--panel); border: 1px solid var(--border);
  border-radius: 6px; padding: 0.15rem 0.6rem; cursor: pointer; }
button, .tools span { flex: none; white-space: nowrap; }
@media (hover: none) { .tools span { display: none; } }
button:hover { border-color: var(--muted); }

.table-box { overflow-x: auto; border: 1px solid var(--border); border-radius: 10px; }
.table-part > p { margin: 0 0 0.6rem; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; line-height: 1.45; }
th, td { padding: 0.5rem 0.9rem; text-align: left; vertical-align: baseline; min-width: 4rem; max-width: 26rem; }
thead th { font-size: 0.8125rem; color: var(--muted); font-weight: 600; background: var(--panel);
  border-bottom: 1px solid var(--border); vertical-align: bottom; }
tbody th { font-weight: 500; }
tbody th, td:not(.number) { min-width: 8.5rem; }
tbody tr + tr > * { border-top: 1px solid var(--border); }
.number { text-align: right; white-space: nowrap; overflow-wrap: normal; }
thead .number { white-space: normal; }
tr.best > * { font-weight: 700; background: var(--panel); }
tr.best > :first-child { box-shadow: inset 3px 0 0 var(--model); }
summary { cursor: pointer; color: var(--model); font-size: 0.9rem; padding: 0.25rem 0; }
.command { display: flex; gap: 0.75rem; align-items: start; background: var(--panel); border: 1px solid var(--border);
  border-radius: 10px; padding: 0.75rem 1rem; }
.command pre { margin: 0; flex: 1; min-width: 0; white-space: pre-wrap; font-size: 0.875rem; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

@media (max-width: 60rem) {
  .page { grid-template-columns: minmax(0, 50rem); }
  .toc > div { position: static; max-height: none; padding: 1.5rem 0 0; }
  .toc ol { border: 0; display: flex; flex-wrap: wrap; gap: 0 1.1rem; }
  .toc a { padding: 0.15rem 0; margin: 0; border: 0; }
  header { padding-top: 1.75rem; }
}
@media (max-width: 40rem) {
  .page { padding: 0 1rem 4rem; }
  .parts > .half, .parts > .half.alone { grid-column: 1 / -1; display: block; }
  .figure.wide { display: none; }
  .figure.narrow { display: block; }
  .picture { overflow-x: auto; }
  .cards { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .card .value { font-size: 1.35rem; }
  .remarks li { grid-template-columns: 1fr; gap: 0; }
  .verdict { font-size: 1.05rem; padding: 0.9rem 1.1rem; }
}
@media print {
  body { font-size: 10.5pt; }
  .page { display: block; max-width: none; padding: 0; }
  .toc, .skip, button, .tip, .tools { display: none !important; }
  header { padding-top: 0; }
  section.part-of { margin-top: 1.5rem; padding-top: 1rem; }
  figure, .card, .verdict, .remarks li, tr, .command { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  .figure.wide { display: block; }
  .figure.narrow { display: none; }
  .table-box { overflow: visible; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
)css";

}  // namespace ick::detail
