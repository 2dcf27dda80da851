/** The report: one line per figure, with what is required beside what was measured. */
import type { Comparison } from './compare.ts'

export interface Line {
  readonly figure: string
  readonly required: string
  readonly measured: string
  /** Least and most of the rounds. */
  readonly spread: string
  /** undefined when the line only informs. */
  readonly ok: boolean | undefined
  /** Absolute numbers and conditions. */
  readonly beside: string
}

const HEAD = ['figure', 'required', 'measured', 'spread', '', 'beside']

/** Columns as wide as their longest cell. */
export const toTable = (lines: readonly Line[]): string => {
  const cells = [
    HEAD,
    ...lines.map(({ figure, required, measured, spread, ok, beside }) => [
      figure,
      required,
      measured,
      spread,
      ok === undefined ? '-' : ok ? 'ok' : 'below',
      beside,
    ]),
  ]
  const widths = HEAD.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

export const percent = (ratio: number): string => `${(ratio * 100).toFixed(0)} %`
export const times = (ratio: number): string => `${ratio.toFixed(2)}x`
export const millis = (value: number): string => `${value.toFixed(value < 10 ? 2 : 0)} ms`
export const micros = (value: number): string => `${value.toFixed(0)} µs`
export const megabytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MB`
export const rate = (perSecond: number): string => `${perSecond.toFixed(0)}/s`

/** Pace and CPU time of both sides, for the last column. */
export const both = ({ ours, others, cpu }: Comparison): string =>
  `${rate(ours.perSecond)} of ${rate(others.perSecond)}; CPU ${micros(ours.cpu)} of ${micros(others.cpu)}, ${times(cpu.median)}; busy ${percent(ours.busy)} and ${percent(others.busy)}`
