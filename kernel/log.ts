/**
 * The pino root, one child per plugin. A value marked secret in a schema never reaches a line, nor does a header that
 * carries credentials: both are looked for in the finished line, so that it does not matter where they were put.
 */
import pino, { type DestinationStream, type Logger } from 'pino'
import { createBatch, type TextSource } from './batch.ts'

export type { Logger } from 'pino'

export interface LogOptions {
  readonly level?: string
  /** Where lines go; standard output by default. */
  readonly stream?: DestinationStream
  /** May lines wait for others, for a tenth of a second? They do on standard output; a stream gets each by default. */
  readonly batched?: boolean
}

const MASK = '[secret]'
const NAMES = '(?:proxy-)?authorization|(?:set-)?cookie|x-amz-security-token'
const TEXT = '"(?:[^"\\\\]|\\\\.)*"'
// As a member of an object, or as a pair in rawHeaders; one value or a list of them.
const HEADER = new RegExp(`("(?:${NAMES})"\\s*[:,]\\s*)(?:${TEXT}|\\[(?:${TEXT}|[^\\]"])*\\])`, 'gi')
// The same in an object that was made a string before.
const QUOTED_HEADER = new RegExp(`(\\\\"(?:${NAMES})\\\\"\\s*[:,]\\s*)\\\\"[^"]*"`, 'gi')
// RFC 6750, wherever it stands, e.g. in the message of an HTTP client. Shorter ones are words.
const BEARER = /\b((?:Bearer|DPoP)\s+)[\w.~+/-]{16,}=*/gi
// Looked for in every line. The shortest word apart: how far a search may skip is how long its shortest word is.
const SUSPICIOUS = [/authorization|cookie|security-token|bearer/i, /dpop/i]

const withoutCredentials = (line: string): string =>
  SUSPICIOUS.some((words) => words.test(line))
    ? line.replace(HEADER, `$1"${MASK}"`).replace(QUOTED_HEADER, `$1\\"${MASK}\\"`).replace(BEARER, `$1${MASK}`)
    : line

const WARN = 40 // pino's number of the level
const METADATA = Symbol.for('pino.metadata') // a stream with it is told the level of each line

/** Where lines go that are not made by the logger. */
interface LineStream extends DestinationStream {
  addSource?(take: TextSource): (chars: number) => void
}

/**
 * Lines in batches, masked when they are written; what is no good news does not wait, since the process may be about to
 * end.
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

/**
 * For lines that are made by hand, with their line ends, at a tenth of what the logger takes: they go where the logger
 * writes, masked like any other. Gives what is to be called when `take` has more to give, with about how many characters.
 */
export const addLines = (log: Logger, take: TextSource): ((chars: number) => void) => {
  const inside = log as unknown as Record<symbol, unknown>
  const stream = inside[pino.symbols.streamSym] as LineStream
  if (stream.addSource !== undefined) return stream.addSource(take)
  const { streamWrite } = inside[(pino.symbols as unknown as { hooksSym: symbol }).hooksSym] as {
    streamWrite?: (line: string) => string
  }
  return () => {
    const text = take()
    stream.write(streamWrite === undefined ? text : streamWrite(text))
  }
}

export interface RootLog {
  readonly log: Logger
  /** Writes the lines that wait for others. */
  flush(): void
  /** Values to mask from now on, e.g. of settings marked secret. Shorter ones than 4 characters would mask words. */
  mask(secrets: readonly string[]): void
}

export const createLog = (options: LogOptions): RootLog => {
  let secrets: string[] = []
  /** One line or several: none of what is looked for reaches over the end of one. */
  const maskAll = (text: string): string => {
    let masked = withoutCredentials(text)
    for (const secret of secrets) if (masked.includes(secret)) masked = masked.replaceAll(secret, MASK)
    return masked
  }
  const { stream, batched = stream === undefined } = options
  const batches = batched ? inBatches(stream ?? pino.destination({ dest: 1, sync: false }), maskAll) : undefined
  const log = pino(
    {
      level: options.level ?? 'info',
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      ...(batches === undefined && { hooks: { streamWrite: maskAll } }),
    },
    batches ?? (stream as DestinationStream),
  )
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
