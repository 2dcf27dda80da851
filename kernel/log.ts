/**
 * The pino root, one child per plugin. A value marked secret in a schema never reaches a line, nor does a header that
 * carries credentials: both are looked for in the finished line, so that it does not matter where they were put.
 */
import pino, { type DestinationStream, type Logger } from 'pino'

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

const BUFFER_CHARS = 32 * 1024 // a line for each request would be a system call for each request
const FLUSH_MS = 100 // how long a line may wait for others, and what a killed process may lose

/**
 * Standard output, written to in batches; flushed when the process exits. Lines are gathered here and handed on together,
 * because the destination measures all that it has gathered with every line that comes.
 */
const bufferedOutput = (): DestinationStream => {
  const output = pino.destination({
    dest: 1,
    sync: false,
    // What is handed on early is written by `flush` and `flushSync`, each in its way.
    minLength: BUFFER_CHARS,
    maxWrite: 2 * BUFFER_CHARS,
    periodicFlush: FLUSH_MS,
  })
  const { write, flush, flushSync, end } = output
  let lines = ''
  const handOn = (): void => {
    const gathered = lines
    lines = ''
    if (gathered !== '') write.call(output, gathered)
  }
  const after = (work: (...given: any[]) => void) =>
    function (this: unknown, ...given: any[]): void {
      handOn()
      work.apply(output, given)
    }
  return Object.assign(output, {
    write(line: string): boolean {
      lines += line
      if (lines.length >= BUFFER_CHARS) handOn()
      return true
    },
    flush: after(flush),
    flushSync: after(flushSync),
    end: after(end),
  })
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
  /** Values to mask from now on, e.g. of settings marked secret. Shorter ones than 4 characters would mask words. */
  mask(secrets: readonly string[]): void
}

export const createLog = (options: LogOptions): RootLog => {
  let secrets: string[] = []
  const log = pino(
    {
      level: options.level ?? 'info',
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: {
        streamWrite: (line) => {
          let masked = withoutCredentials(line)
          for (const secret of secrets) if (masked.includes(secret)) masked = masked.replaceAll(secret, MASK)
          return masked
        },
      },
    },
    options.stream ?? bufferedOutput(),
  )
  return {
    log,
    mask: (more) => {
      // The log holds the JSON spelling of a value: a quote or a backslash in a secret is escaped there.
      const spelled = more.filter((one) => one.length >= 4).flatMap((one) => [one, JSON.stringify(one).slice(1, -1)])
      secrets = [...new Set([...secrets, ...spelled])].sort((a, b) => b.length - a.length)
    },
  }
}
