/** Shows the progress of a command: on a terminal one line that is overwritten, otherwise a line every five seconds. */
import type { Clock } from './clock.ts'
import type { Output } from './command.ts'

const CLEAR_LINE = '\r\u001B[K'
const TERMINAL_MS = 100
const LINES_MS = 5_000

export interface ProgressStep {
  /** How much of `total` is done, in any unit; the percentage is made of them. */
  readonly done: number
  readonly total: number
  /** What was handled until now. Where it is left out, `done` and `total` are numbers of resources. */
  readonly resources?: number
  /** What is counted, where it is something else than resources. */
  readonly unit?: string
  /** What is under way: a type, a file. */
  readonly label: string
}

export interface ProgressLine {
  say(text: string): void
  step(step: ProgressStep): void
  end(text?: string): void
}

export const progressLine = (stdout: Output, clock: Clock): ProgressLine => {
  const isTerminal = stdout.isTTY === true
  let began: { readonly at: number; readonly count: number } | undefined
  let next = 0
  const clear = (): void => {
    if (isTerminal) stdout.write(CLEAR_LINE)
  }
  return {
    say(text) {
      clear()
      stdout.write(`${text}\n`)
    },
    step({ done, total, resources, unit = 'resources', label }) {
      const now = clock.monotonic()
      const count = resources ?? done
      // The next label begins to count again.
      if (began === undefined || count < began.count) began = { at: now, count }
      if (now < next && done < total) return
      next = now + (isTerminal ? TERMINAL_MS : LINES_MS)
      const percent = total === 0 ? 100 : Math.floor((100 * done) / total)
      const rate = Math.round((count - began.count) / Math.max(0.001, (now - began.at) / 1000))
      const handled = resources === undefined ? `${done} of ${total}` : `${resources}`
      const text = `${percent} % (${handled} ${unit}, ${rate}/s) ${label}`
      stdout.write(isTerminal ? `${CLEAR_LINE}${text}` : `${text}\n`)
    },
    end(text) {
      clear()
      if (text !== undefined) stdout.write(`${text}\n`)
    },
  }
}
