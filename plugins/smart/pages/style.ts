/** The style sheet of all pages. The Content-Security-Policy allows it by its hash. */
import { createHash } from 'node:crypto'
import { PALETTE } from '../../html/service.ts'

export const STYLE = `
${PALETTE}*, ::before, ::after { box-sizing: border-box; }
body {
  margin: 0; min-height: 100vh; padding: 2.5rem 1rem; background: var(--page); color: var(--text);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Open Sans", sans-serif; overflow-wrap: anywhere;
}
main {
  max-width: 34rem; margin: 0 auto; padding: 2rem; background: var(--card); border: 1px solid var(--line);
  border-radius: 14px; box-shadow: var(--shade);
}
main.wide { max-width: 52rem; }
.place { display: flex; align-items: center; gap: .6rem; margin: 0 0 1.5rem; color: var(--quiet); font-size: .875rem; font-weight: 600; }
.place svg { width: 1.75rem; height: 1.75rem; flex: none; color: var(--main); }
h1 { margin: 0 0 .5rem; font-size: 1.5rem; line-height: 1.25; letter-spacing: -.01em; text-wrap: balance; }
h2 { margin: 1.75rem 0 .5rem; font-size: 1rem; }
p { margin: 0 0 1rem; }
.quiet { color: var(--quiet); }
.small { font-size: .875rem; }
a { color: var(--main); }
code { font: .8125rem/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
form { margin: 0; }
label { font-weight: 600; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
input[type=text], input[type=search] {
  width: 100%; min-height: 2.75rem; padding: .5rem .75rem; border: 1px solid var(--field); border-radius: 8px;
  background: var(--card); color: inherit; font: inherit;
}
button, .button {
  display: inline-block; min-height: 2.75rem; padding: .55rem 1.25rem; border: 1px solid var(--main); border-radius: 8px;
  background: var(--main); color: var(--main-text); font: inherit; font-weight: 600; text-align: center;
  text-decoration: none; cursor: pointer;
}
button:hover, .button:hover { background: var(--main-over); border-color: var(--main-over); }
button.second, .button.second { background: transparent; color: var(--main); }
button.second:hover, .button.second:hover { background: var(--tint); border-color: var(--main); }
.full { width: 100%; }
.field { margin: 0 0 1rem; }
.field label { display: block; margin-bottom: .35rem; }
.hint { margin: .35rem 0 0; color: var(--quiet); font-size: .875rem; }
.mistake { margin: .35rem 0 0; color: var(--bad); font-size: .875rem; font-weight: 600; }
[aria-invalid=true] { border-color: var(--bad) !important; }
.note { margin: 0 0 1.25rem; padding: .75rem 1rem; border: 1px solid var(--warn-line); border-radius: 8px; background: var(--warn-tint); color: var(--warn); font-size: .875rem; }
.note.bad { border-color: var(--bad-line); background: var(--bad-tint); color: var(--bad); }
.note p:last-child { margin: 0; }
.or { display: flex; align-items: center; gap: .75rem; margin: 1.5rem 0; color: var(--quiet); font-size: .875rem; }
.or::before, .or::after { content: ""; flex: 1; border-top: 1px solid var(--line); }
.search { display: flex; flex-wrap: wrap; gap: .5rem; align-items: end; margin: 1.25rem 0; }
.search div { flex: 1 1 14rem; }
.search label { display: block; margin-bottom: .35rem; }
table { width: 100%; border-collapse: collapse; }
caption { padding: 0 0 .5rem; color: var(--quiet); font-size: .875rem; text-align: start; }
th, td { padding: .6rem .75rem .6rem 0; border-bottom: 1px solid var(--line); text-align: start; vertical-align: middle; }
thead th { color: var(--quiet); font-size: .8125rem; font-weight: 600; overflow-wrap: normal; }
tbody th { font-weight: 600; }
td.act { padding-inline-end: 0; text-align: end; }
td.act button { min-height: 2.5rem; white-space: nowrap; padding: .35rem 1rem; }
.pages { display: flex; justify-content: space-between; gap: .75rem; margin: 1.25rem 0 0; }
.pages :last-child { margin-inline-start: auto; }
dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin: 1.25rem 0; padding: .9rem 1rem; border-radius: 10px; background: var(--tint); }
.facts dt { color: var(--quiet); }
.facts dd { margin: 0; font-weight: 600; }
fieldset { min-width: 0; margin: 1.5rem 0; padding: 0; border: 0; }
legend { margin-bottom: .25rem; padding: 0; font-weight: 700; }
ul.scopes { margin: .5rem 0 0; padding: 0; list-style: none; border-top: 1px solid var(--line); }
.scopes li { display: grid; grid-template-columns: 1.5rem 1fr; gap: 0 .75rem; padding: .8rem 0; border-bottom: 1px solid var(--line); }
.scopes input { width: 1.25rem; height: 1.25rem; margin: .15rem 0 0; accent-color: var(--main); }
.scopes label { cursor: pointer; }
.scopes .more { color: var(--quiet); font-size: .875rem; }
.scopes .more p { margin: .15rem 0 0; }
.basics { margin: .5rem 0 0; padding-inline-start: 1.25rem; }
.basics li { margin-bottom: .5rem; }
.basics .hint { margin: 0; }
code { color: var(--quiet); }
.mark { display: inline-block; margin: .1rem .25rem .1rem 0; padding: .05rem .5rem; border: 1px solid var(--warn-line); border-radius: 99px; background: var(--warn-tint); color: var(--warn); font-size: .75rem; font-weight: 600; }
.decide { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1.5rem; }
.decide button { flex: 1 1 9rem; }
.foot { margin: 1.5rem 0 0; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--quiet); font-size: .875rem; }
.foot p { margin: 0 0 .35rem; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media (max-width: 36rem) {
  body { padding: 0; background: var(--card); }
  main { padding: 1.5rem 1.25rem; border: 0; border-radius: 0; box-shadow: none; }
  table, tbody, tr, th, td, caption { display: block; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tr { padding: .9rem 0; border-bottom: 1px solid var(--line); }
  th, td { padding: 0; border: 0; }
  td[data-label] { display: flex; gap: .5rem; font-size: .9375rem; }
  td[data-label]::before { content: attr(data-label); flex: 0 0 7.25rem; color: var(--quiet); }
  td:empty { display: none; }
  td.act { margin-top: .6rem; }
  td.act button { width: 100%; }
  .search button { flex: 1 0 100%; order: 3; }
  dl.facts { grid-template-columns: 1fr; gap: 0; }
  .facts dd + dt { margin-top: .5rem; }
}
@media (forced-colors: active) { button, .button, .mark { border: 1px solid; } }
@media (prefers-reduced-motion: no-preference) { button, .button { transition: background .12s; } }
`

/** Source of `style-src`, without its quotes. */
export const STYLE_HASH = `sha256-${createHash('sha256').update(STYLE).digest('base64')}`
