/** Charts without scripts. Each stands beside a table with the same figures, so that screen readers pass over it. */
import { type Html, html } from '../html/service.ts'

const STEP = 10
const HEIGHT = 100

export interface ChartColumn {
  readonly label: string
  readonly value: number
  /** What a pointer on the column shows. */
  readonly text: string
}

/** Columns from left to right, the highest of which fills the chart; one above 0 is always seen. `scale` says what that is. */
export const columnChart = (columns: readonly ChartColumn[], scale: (most: number) => string): Html => {
  const highest = Math.max(0, ...columns.map(({ value }) => value))
  const rects = columns.map(({ value, text }, at) => {
    const height = value === 0 ? 0 : Math.max(1, Math.round((value / highest) * HEIGHT))
    return html`<rect x="${at * STEP + 1}" y="${HEIGHT - height}" width="${STEP - 2}" height="${height}"><title>${text}</title></rect>`
  })
  return html`<div aria-hidden="true">
<svg class="chart" viewBox="0 0 ${columns.length * STEP} ${HEIGHT}" preserveAspectRatio="none">${rects}</svg>
<div class="ends"><span>${columns[0]?.label}</span><span>${scale(highest)}</span><span>${columns.at(-1)?.label}</span></div></div>`
}

/** A bar as long as the part that `value` is of `most`. */
export const bar = (value: number, most: number): Html =>
  html`<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect x="0" y="0" width="${most === 0 ? 0 : Math.max(1, Math.round((value / most) * 100))}" height="10"></rect></svg>`
