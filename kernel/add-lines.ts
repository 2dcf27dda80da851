/** Lines beside those that a logger makes. They are apart from the logger, which threads need not load. */
import type { Logger } from 'pino'
import type { TextSource } from './batch.ts'

/** Takes a source of finished lines. Call the returned function when it has new text, with its approximate number of characters. */
export type LineSink = (take: TextSource) => (chars: number) => void

const SINK = Symbol.for('refhir.lines/1') // registered, for plugins that import another copy of the kernel

/** Children of the logger have it, too. */
export const giveLines = (log: Logger, sink: LineSink): void => {
  Object.defineProperty(log, SINK, { value: sink })
}

/**
 * Adds a source of finished lines, with their line ends, which take a tenth of the logger's time. They go to the stream
 * of the logger and are masked like other lines. Call the returned function when `take` has new text, with its
 * approximate number of characters.
 */
export const addLines = (log: Logger, take: TextSource): ((chars: number) => void) =>
  ((log as unknown as Readonly<Record<symbol, unknown>>)[SINK] as LineSink)(take)
