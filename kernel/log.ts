/** The pino root, one child per plugin. A value marked secret in a schema never reaches a line. */
import pino, { type DestinationStream, type Logger } from 'pino'

export type { Logger } from 'pino'

export interface LogOptions {
  readonly level?: string
  /** Where lines go; standard output by default. */
  readonly stream?: DestinationStream
}

// Headers that carry credentials, wherever a request or its headers are logged.
const HEADERS = ['authorization', 'cookie', 'set-cookie', 'proxy-authorization', 'x-amz-security-token']
const MASK = '[secret]'

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
      redact: {
        paths: HEADERS.flatMap((name) => [`headers["${name}"]`, `*.headers["${name}"]`, `["${name}"]`]),
        censor: MASK,
      },
      hooks: {
        streamWrite: (line) => {
          let masked = line
          for (const secret of secrets) if (masked.includes(secret)) masked = masked.replaceAll(secret, MASK)
          return masked
        },
      },
    },
    options.stream ?? pino.destination({ dest: 1, sync: false }),
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
