/** Output written in batches: a log line for each request would be a system call for each request. */
import type { Output } from '../kernel/command.ts'

const BATCH_CHARS = 16 * 1024
const FLUSH_MS = 100 // how long a line may wait for others, and what a killed process may lose

export interface BatchedOutput extends Output {
  /** Writes what waits; to be called at exit. */
  flush(): void
}

/** For what no person watches: a terminal is written to at once. */
export const batchedOutput = (output: Output): BatchedOutput => {
  let waiting = ''
  let timer: NodeJS.Timeout | undefined
  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    if (waiting === '') return
    const text = waiting
    waiting = ''
    output.write(text)
  }
  return {
    isTTY: output.isTTY,
    flush,
    write(text) {
      waiting += text
      if (output.isTTY === true || waiting.length >= BATCH_CHARS) flush()
      else timer ??= setTimeout(flush, FLUSH_MS).unref()
    },
  }
}
