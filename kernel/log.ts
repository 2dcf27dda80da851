/**
 * The root logger (pino), with one child per plugin. Values marked secret in a schema and headers with credentials
 * never reach a line: both are masked in the finished line, wherever they were put.
 */
import pino, { type DestinationStream, type Logger } from 'pino'
import { giveLines, type LineSink } from './add-lines.ts'
import { createBatch } from './batch.ts'

export type { Logger } from 'pino'

export interface LogOptions {
  readonly level?: string
  /** Where lines go; standard output by default. */
  readonly stream?: DestinationStream
  /**
   * Whether lines are written in batches, at most 100 ms late. By default true on standard output, false on a `stream`.
   */
  readonly batched?: boolean
}

const MASK = '[secret]'
const NAMES = '(?:proxy-)?authorization|(?:set-)?cookie|x-amz-security-token'
const TEXT = '"(?:[^"\\\\]|\\\\.)*"'
// As a member of an object, or as a pair in rawHeaders; one value or a list of them.
const HEADER = new RegExp(`("(?:${NAMES})"\\s*[:,]\\s*)(?:${TEXT}|\\[(?:${TEXT}|[^\\]"])*\\])`, 'gi')
// The same in an object that was serialised into a string before, with escaped quotes.
const QUOTED_HEADER = new RegExp(`(\\\\"(?:${NAMES})\\\\"\\s*[:,]\\s*)\\\\"[^"]*"`, 'gi')
// A token as in RFC 6750, anywhere in the line, e.g. in the message of an HTTP client. Shorter matches are ordinary
// words.
const BEARER = /\b((?:Bearer|DPoP)\s+)[\w.~+/-]{16,}=*/gi
// Quick test of every line. `dpop` has a pattern of its own: an alternation can skip only as far as its shortest word
// is long.
const SUSPICIOUS = [/authorization|cookie|security-token|bearer/i, /dpop/i]

const withoutCredentials = (line: string): string =>
  SUSPICIOUS.some((words) => words.test(line))
    ? line.replace(HEADER, `$1"${MASK}"`).replace(QUOTED_HEADER, `$1\\"${MASK}\\"`).replace(BEARER, `$1${MASK}`)
    : line

const WARN = 40 // pino's number of the level
const METADATA = Symbol.for('pino.metadata') // pino sets `lastLevel` on a stream that has it

/** A stream that also takes lines that the logger did not make. */
interface LineStream extends DestinationStream {
  readonly addSource: LineSink
}

/**
 * Writes lines in batches, and masks them then. Warnings and errors are written at once, since the process may be about
 * to end.
 */
const inBatches = (output: DestinationStream, mask: (text: string) => string): LineStream & { flush(): void } => {
  const { add, addSource, flush } = createBatch((text) => void output.write(mask(text)))
  const stream = {
    [METADATA]: true,
    lastLevel: 0,
    flush,
    addSource,
    write(line: string) {
      add(line)
      if (stream.lastLevel >= WARN) flush()
      stream.lastLevel = 0
    },
  }
  return stream
}

/** Writes lines at once. */
const atOnce =
  (output: DestinationStream, mask: (text: string) => string): LineSink =>
  (take) =>
  () =>
    output.write(mask(take()))

export interface RootLog {
  readonly log: Logger
  /** Writes the buffered lines. */
  flush(): void
  /**
   * Values to mask from now on, e.g. of settings marked secret. Those shorter than 4 characters are ignored: they would
   * mask words.
   */
  mask(secrets: readonly string[]): void
}

export const createLog = (options: LogOptions): RootLog => {
  let secrets: string[] = []
  /** Masks one line or several: no pattern matches across the end of a line. */
  const maskAll = (text: string): string => {
    let masked = withoutCredentials(text)
    for (const secret of secrets) if (masked.includes(secret)) masked = masked.replaceAll(secret, MASK)
    return masked
  }
  const { stream, batched = stream === undefined } = options
  const output = stream ?? pino.destination({ dest: 1, sync: !batched })
  const batches = batched ? inBatches(output, maskAll) : undefined
  const log = pino(
    {
      level: options.level ?? 'info',
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      ...(batches === undefined && { hooks: { streamWrite: maskAll } }),
    },
    batches ?? output,
  )
  giveLines(log, batches?.addSource ?? atOnce(output, maskAll))
  return {
    log,
    flush: () => batches?.flush(),
    mask: (more) => {
      // The log holds the JSON spelling of a value: a quote or a backslash in a secret is escaped there.
      const spelled = more.filter((one) => one.length >= 4).flatMap((one) => [one, JSON.stringify(one).slice(1, -1)])
      secrets = [...new Set([...secrets, ...spelled])].sort((a, b) => b.length - a.length)
    },
  }
}
