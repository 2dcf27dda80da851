/** Text that is written in batches: a log line for each request would be a system call for each request. */

const BATCH_CHARS = 64 * 1024 // some hundred lines: handing them over takes about as long as making ten
const FLUSH_MS = 100 // how long a line may wait for others, and what a killed process may lose

/** Gives the text of what it was told since it was asked last. */
export type TextSource = () => string

export interface Batch {
  add(text: string): void
  /**
   * For text that is made when the batch is written, in its place among the others: lines that are made one behind the
   * other take a third of what each takes between two requests. The source says of each about how many characters it has.
   */
  addSource(take: TextSource): (chars: number) => void
  /** Writes what waits. */
  flush(): void
}

export const createBatch = (write: (text: string) => void): Batch => {
  const sources: TextSource[] = []
  let waiting = ''
  /** Characters that sources still have, about. */
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
