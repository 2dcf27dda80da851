/** Shows the progress of a reindex: on a terminal one line that is overwritten, otherwise a line every LINES_MS. */
import type { Clock, Output } from '../../../kernel/index.ts'
import type { ReindexProgress } from '../index/backfill/reindex.ts'

const CLEAR_LINE = '\r\u001B[K'
const TERMINAL_MS = 100
const LINES_MS = 5_000

export interface ProgressLine {
  say(text: string): void
  step(step: ReindexProgress): void
  end(text?: string): void
}

export const progressLine = (stdout: Output, clock: Clock): ProgressLine => {
  const isTerminal = stdout.isTTY === true
  let began: { readonly at: number; readonly done: number } | undefined
  let next = 0
  const clear = (): void => {
    if (isTerminal) stdout.write(CLEAR_LINE)
  }
  return {
    say(text) {
      clear()
      stdout.write(`${text}\n`)
    },
    step({ type, done, total }) {
      const now = clock.monotonic()
      began ??= { at: now, done }
      if (now < next && done < total) return
      next = now + (isTerminal ? TERMINAL_MS : LINES_MS)
      const percent = total === 0 ? 100 : Math.floor((100 * done) / total)
      const rate = Math.round((done - began.done) / Math.max(0.001, (now - began.at) / 1000))
      const text = `${percent} % (${done} of ${total} resources, ${rate}/s) ${type}`
      stdout.write(isTerminal ? `${CLEAR_LINE}${text}` : `${text}\n`)
    },
    end(text) {
      clear()
      if (text !== undefined) stdout.write(`${text}\n`)
    },
  }
}
