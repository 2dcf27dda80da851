/**
 * The pino root, one child per plugin. A value marked secret in a schema never reaches a line, nor does a header that
 * carries credentials: both are looked for in the finished line, so that it does not matter where they were put.
 */
import pino, { type DestinationStream, type Logger } from 'pino'
import { createBatch } from './batch.ts'

export type { Logger } from 'pino'

export interface LogOptions {
  readonly level?: string
  /** Where lines go; standard output by default. */
  readonly stream?: DestinationStream
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
const SUSPICIOUS = new RegExp(`${NAMES}|bearer|dpop`, 'i')

const withoutCredentials = (line: string): string =>
  SUSPICIOUS.test(line)
    ? line.replace(HEADER, `$1"${MASK}"`).replace(QUOTED_HEADER, `$1\\"${MASK}\\"`).replace(BEARER, `$1${MASK}`)
    : line

const WARN = 40 // pino's number of the level
const METADATA = Symbol.for('pino.metadata') // a stream with it is told the level of each line

/**
 * Standard output in batches, masked when they are written; what is no good news does not wait, since the process may be
 * about to end.
 */
const batchedOutput = (mask: (text: string) => string): DestinationStream & { flush(): void } => {
  const output = pino.destination({ dest: 1, sync: false })
  const { add, flush } = createBatch((text) => void output.write(mask(text)))
  const stream = {
    [METADATA]: true,
    lastLevel: 0,
    flush,
    write(line: string) {
      add(line)
      if (stream.lastLevel >= WARN) flush()
      stream.lastLevel = 0
    },
  }
  return stream
}

/**
 * Writes a line that was made by hand, with its line end, to where the logger writes: masked like any other, at a tenth
 * of what the logger takes to make one.
 */
export const lineWriter = (log: Logger): ((line: string) => void) => {
  const inside = log as unknown as Record<symbol, unknown>
  const stream = inside[pino.symbols.streamSym] as DestinationStream
  const { streamWrite } = inside[(pino.symbols as unknown as { hooksSym: symbol }).hooksSym] as {
    streamWrite?: (line: string) => string
  }
  return (line) => void stream.write(streamWrite === undefined ? line : streamWrite(line))
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
  const own = options.stream === undefined ? batchedOutput(maskAll) : undefined
  const log = pino(
    {
      level: options.level ?? 'info',
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      ...(own === undefined && { hooks: { streamWrite: maskAll } }),
    },
    options.stream ?? (own as DestinationStream),
  )
  return {
    log,
    flush: () => own?.flush(),
    mask: (more) => {
      // The log holds the JSON spelling of a value: a quote or a backslash in a secret is escaped there.
      const spelled = more.filter((one) => one.length >= 4).flatMap((one) => [one, JSON.stringify(one).slice(1, -1)])
      secrets = [...new Set([...secrets, ...spelled])].sort((a, b) => b.length - a.length)
    },
  }
}
