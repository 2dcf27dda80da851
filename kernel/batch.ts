/** Text that is written in batches: a log line for each request would be a system call for each request. */

const BATCH_CHARS = 64 * 1024 // some hundred lines: handing them over takes about as long as making ten
const FLUSH_MS = 100 // how long a line may wait for others, and what a killed process may lose

export interface Batch {
  add(text: string): void
  /** Writes what waits. */
  flush(): void
}

export const createBatch = (write: (text: string) => void): Batch => {
  let waiting = ''
  let timer: NodeJS.Timeout | undefined
  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    if (waiting === '') return
    const text = waiting
    waiting = ''
    write(text)
  }
  return {
    flush,
    add(text) {
      waiting += text
      if (waiting.length >= BATCH_CHARS) flush()
      else timer ??= setTimeout(flush, FLUSH_MS).unref()
    },
  }
}
