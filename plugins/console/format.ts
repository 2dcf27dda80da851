/** Figures and times as pages show them. */
import { type Html, html } from '../html/service.ts'

/** `2026-11-21 20:00:05`, in UTC. */
export const instant = (ms: number): Html => {
  const text = new Date(ms).toISOString()
  return html`<span class="nowrap">${text.slice(0, 10)}</span> <span class="nowrap">${text.slice(11, 19)}</span>`
}

export const figure = (value: number): string => value.toLocaleString('en-US')

export const bytes = (value: number): string => {
  if (value < 1_000) return `${value} B`
  const power = Math.min(Math.floor(Math.log10(value) / 3), 4)
  const scaled = value / 1_000 ** power
  return `${scaled < 10 ? scaled.toFixed(1) : Math.round(scaled)} ${['B', 'kB', 'MB', 'GB', 'TB'][power]}`
}

export const milliseconds = (ms: number): string =>
  ms < 10 ? `${ms.toFixed(1)} ms` : ms < 10_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`

const PARTS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const

/** The two largest parts: `3 d 4 h`. */
export const duration = (ms: number): string => {
  let rest = Math.floor(ms / 1_000)
  const parts = PARTS.flatMap(([unit, seconds]) => {
    const count = Math.floor(rest / seconds)
    rest -= count * seconds
    return count > 0 ? [`${count} ${unit}`] : []
  })
  return parts.slice(0, 2).join(' ') || '0 s'
}
