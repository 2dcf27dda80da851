/** The style sheet of pages that show data. The Content-Security-Policy allows it by its hash. */
import { createHash } from 'node:crypto'
import { PALETTE } from './palette.ts'

export const STYLE = `
${PALETTE}
:root { --key: #0b6077; --string: #7a3b00; --number: #6a2c91; --word: #a3161c; }
@media (prefers-color-scheme: dark) { :root { --key: #86d5e8; --string: #ffd199; --number: #d9b8f5; --word: #ffb4b4; } }
*, ::before, ::after { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--text); overflow-wrap: anywhere;
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Open Sans", sans-serif;
}
a { color: var(--main); text-underline-offset: .15em; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
.skip { position: absolute; left: -100rem; padding: .5rem 1rem; background: var(--card); }
.skip:focus { left: .5rem; top: .5rem; z-index: 1; }
.top { padding: .75rem 1.25rem; border-bottom: 1px solid var(--line); background: var(--card); }
.top nav { display: flex; flex-wrap: wrap; gap: .25rem .5rem; max-width: 72rem; margin: 0 auto; align-items: center; }
.top .home { margin-inline-end: .5rem; font-weight: 700; text-decoration: none; }
.top ol { display: flex; flex-wrap: wrap; gap: .25rem .5rem; margin: 0; padding: 0; list-style: none; }
.top li::before { content: "/"; margin-inline-end: .5rem; color: var(--quiet); }
main { max-width: 72rem; margin: 0 auto; padding: 1.5rem 1.25rem 3rem; }
h1 { margin: 0 0 .5rem; font-size: 1.5rem; line-height: 1.25; letter-spacing: -.01em; text-wrap: balance; }
h2 { margin: 0 0 .75rem; font-size: 1.0625rem; }
p { margin: 0 0 1rem; }
.quiet, .hint { color: var(--quiet); }
.hint { font-size: .8125rem; font-weight: 400; }
.actions { display: flex; flex-wrap: wrap; gap: .5rem; margin: 1rem 0; padding: 0; list-style: none; }
.button, button {
  display: inline-block; min-height: 2.5rem; min-width: 2.5rem; padding: .45rem 1rem; border: 1px solid var(--main); border-radius: 8px;
  background: transparent; color: var(--main); font: inherit; font-weight: 600; text-decoration: none; cursor: pointer;
}
.button:hover { background: var(--tint); }
button { background: var(--main); color: var(--main-text); }
button:hover { background: var(--main-over); }
section, .card { margin: 1.25rem 0; padding: 1.25rem; border: 1px solid var(--line); border-radius: 12px; background: var(--card); }
section > :last-child, .card > :last-child { margin-bottom: 0; }
dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.25rem; margin: 0; }
.facts dt { color: var(--quiet); }
.facts dd { margin: 0; }
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; }
caption { padding: 0 0 .5rem; color: var(--quiet); font-size: .875rem; text-align: start; }
th, td { padding: .5rem .75rem .5rem 0; border-bottom: 1px solid var(--line); text-align: start; vertical-align: top; }
thead th { color: var(--quiet); font-size: .8125rem; overflow-wrap: normal; }
tbody th { font-weight: 600; }
tbody tr:last-child > * { border-bottom: 0; }
th.number, td.number { text-align: end; font-variant-numeric: tabular-nums; }
pre, code { font: .8125rem/1.55 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
pre { margin: 0; white-space: pre-wrap; tab-size: 2; }
.k { color: var(--key); } .s { color: var(--string); } .n { color: var(--number); } .w { color: var(--word); }
.s a, .w a { color: inherit; }
summary { padding: .25rem 0; font-weight: 600; cursor: pointer; }
details[open] > summary { margin-bottom: .75rem; }
details.card { padding-block: .75rem; }
.fields { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: .75rem 1rem; margin: 0 0 1rem; }
.fields label { display: block; font-size: .875rem; font-weight: 600; }
input, select {
  width: 100%; min-height: 2.5rem; margin-top: .2rem; padding: .4rem .6rem; border: 1px solid var(--field); border-radius: 8px;
  background: var(--card); color: inherit; font: inherit;
}
.types { columns: 13rem; margin: 0; padding: 0; list-style: none; }
.types a { display: inline-block; padding: .2rem 0; }
.issue { margin: 0 0 .75rem; padding: .75rem 1rem; border: 1px solid var(--warn-line); border-radius: 8px; background: var(--warn-tint); color: var(--warn); }
.issue.bad { border-color: var(--bad-line); background: var(--bad-tint); color: var(--bad); }
.issue p { margin: 0; }
.mark { display: inline-block; padding: .05rem .5rem; border: 1px solid var(--line); border-radius: 99px; color: var(--quiet); font-size: .75rem; font-weight: 600; }
.narrative table { width: auto; }
.narrative .heading { font-weight: 700; }
.narrative { max-height: 30rem; overflow: auto; }
.foot { max-width: 72rem; margin: 0 auto; padding: 0 1.25rem 2rem; color: var(--quiet); font-size: .875rem; }
@media (max-width: 40rem) {
  main { padding: 1rem .75rem 2rem; }
  section, .card { padding: 1rem .75rem; }
  dl.facts { grid-template-columns: 1fr; gap: 0; }
  .facts dd + dt { margin-top: .5rem; }
  table.rows, .rows tbody, .rows tr, .rows th, .rows td, .rows caption { display: block; }
  .rows thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .rows tr { padding: .6rem 0; border-bottom: 1px solid var(--line); }
  .rows tbody tr:last-child { border-bottom: 0; }
  .rows th, .rows td { padding: .1rem 0; border: 0; }
  .rows td:empty { display: none; }
  .rows td[data-label]::before { content: attr(data-label) ": "; color: var(--quiet); }
  td.number { text-align: start; }
}
.tabs { display: flex; flex-wrap: wrap; gap: 0 1.25rem; margin: 0 0 1.5rem; padding: 0; border-bottom: 1px solid var(--line); list-style: none; }
.tabs a { display: block; margin-bottom: -1px; padding: .5rem 0; border-bottom: 3px solid transparent; color: var(--quiet); font-weight: 600; text-decoration: none; }
.tabs a:hover { border-color: var(--line); }
.tabs [aria-current] { border-color: var(--main); color: var(--text); }
.chart, .bar { display: block; width: 100%; fill: var(--main); }
.chart { height: 9rem; border-bottom: 1px solid var(--field); }
.bar { min-width: 6rem; height: .625rem; margin-top: .45rem; }
.ends { display: flex; justify-content: space-between; color: var(--quiet); font-size: .8125rem; }
.nowrap { white-space: nowrap; }
@media (forced-colors: active) { .button, button, .mark { border: 1px solid; } }
`

/** Source of `style-src`, without its quotes. */
export const STYLE_HASH = `sha256-${createHash('sha256').update(STYLE).digest('base64')}`
