/** Text that is written in batches: a log line for each request would be a system call for each request. */

const BATCH_CHARS = 64 * 1024 // some hundred lines: handing them over takes about as long as making ten
const FLUSH_MS = 100 // how long a line may wait for others, and what a killed process may lose

/** Returns the text that was added since its last call. */
export type TextSource = () => string

export interface Batch {
  add(text: string): void
  /**
   * Registers text that is made when the batch is written, in its place among other text: making lines one after the
   * other takes a third of the time of making each between two requests. Call the returned function when `take` has new
   * text, with its approximate number of characters.
   */
  addSource(take: TextSource): (chars: number) => void
  /** Writes the buffered text. */
  flush(): void
}

export const createBatch = (write: (text: string) => void): Batch => {
  const sources: TextSource[] = []
  let waiting = ''
  /** Approximate number of characters that were announced and not taken yet. */
  let announced = 0
  let timer: NodeJS.Timeout | undefined

  const collect = (): void => {
    if (announced === 0) return
    announced = 0
    for (const take of sources) waiting += take()
  }
  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    collect()
    if (waiting === '') return
    const text = waiting
    waiting = ''
    write(text)
  }
  const flushSoon = (): void => {
    if (waiting.length + announced >= BATCH_CHARS) flush()
    else timer ??= setTimeout(flush, FLUSH_MS).unref()
  }
  return {
    flush,
    add(text) {
      collect()
      waiting += text
      flushSoon()
    },
    addSource(take) {
      sources.push(take)
      return (chars) => {
        announced += chars
        flushSoon()
      }
    },
  }
}
