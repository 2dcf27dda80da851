/**
 * `server`: sets up, listens, prints its address, and serves until a signal, or until a plugin reports that the server
 * cannot continue. Exit code 0 after a graceful stop at a signal.
 */
import { PluginStart } from '../kernel/errors.ts'
import { BUILD, type Failure, type Kernel, type LogOptions } from '../kernel/index.ts'
import { messageOf } from '../kernel/message-of.ts'
import { ServerError } from '../kernel/server-error.ts'
import type { OwnContext } from './context.ts'
import { CLEAR_LINE, showProgress } from './progress.ts'
import { StartFailed } from './start-failure.ts'
import { unknownVariables } from './unknown-variables.ts'
import type { SignalName, World } from './world.ts'

const SIGNAL_CODE: Readonly<Record<SignalName, number>> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } // 128 + number of the signal

/** On a terminal short lines for people; otherwise lines of JSON only. */
const logFor = async ({ stdout }: World): Promise<LogOptions> => {
  const stream = { write: (line: string) => void stdout.write(line) }
  if (stdout.isTTY !== true) return { stream, batched: true }
  const { prettyFactory } = await import('pino-pretty')
  const pretty = prettyFactory({ colorize: true, singleLine: true, translateTime: 'HH:MM:ss', ignore: 'pid,hostname' })
  return { stream: { write: (line) => void stdout.write(`${CLEAR_LINE}${pretty(JSON.parse(line))}`) } }
}

/** Nothing where standard error is a file or a pipe: what is shown to a person alone must be kept nowhere. */
const terminalOf = ({ stderr }: World): { tellOperator?: (line: string) => void } =>
  stderr.isTTY === true ? { tellOperator: (line) => void stderr.write(`${CLEAR_LINE}${line}\n`) } : {}

/** Resolves at the first signal; the second ends the process at once. */
const firstSignal = (world: World): { readonly signal: Promise<void>; forget(): void } => {
  const { promise, resolve } = Promise.withResolvers<void>()
  let seen = false
  const forget = world.onSignal((name) => {
    if (seen) world.exit(SIGNAL_CODE[name])
    seen = true
    resolve()
  })
  return { signal: promise, forget }
}

const LISTEN_HINTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens there; stop it, or choose another address with --bind host:port',
  EACCES: 'this user may not open that port; choose one above 1023 with --bind host:port',
  EADDRNOTAVAIL:
    'this machine does not have that address; choose one it has, or 0.0.0.0 for all, with --bind host:port',
  ENOTFOUND: 'that host name is unknown here; choose an address of this machine with --bind host:port',
}

/** Whether the message is complete: the error comes from an error table and quotes its cause. */
const isComplete = (error: unknown): boolean => {
  if (!(error instanceof ServerError)) return false
  const { key, cause, message } = error
  if (key === PluginStart.key) return isComplete(cause)
  return cause === undefined || message.includes(messageOf(cause))
}

/** One line that says what the operator can do next. */
const lineOf = (error: unknown, kernel: Kernel): string => {
  const { message, code = '' } = error as Error & { code?: string }
  const hint = LISTEN_HINTS[code]
  const bind = String(kernel.settings.section('server').bind)
  const more = isComplete(error) ? '' : '; SERVER_LOG_LEVEL=debug logs the cause'
  const line = hint === undefined ? `${message}${more}` : `cannot listen on ${bind}: ${hint}`
  return line.replace(/\s*\n\s*/g, ' ')
}

/** Replaces a wildcard address, to which no request can be sent, by localhost. */
const reachable = (address: string): string =>
  address.replace('//0.0.0.0:', '//localhost:').replace('//[::]:', '//localhost:')

const createAnnouncer = ({ stdout }: World, kernel: Kernel) => {
  const terminal = stdout.isTTY === true
  return {
    listening: (address: string): void => {
      if (terminal) stdout.write(`refhir ${BUILD} listens on ${address} and is starting.\n`)
      else kernel.log.info({ address, version: BUILD }, 'listening')
    },
    ready: (address: string): void => {
      const request = `curl ${reachable(address)}/metadata`
      if (terminal) stdout.write(`Ready. Try: ${request}\nCtrl-C stops it.\n`)
      else kernel.log.info({ address, try: request }, 'ready')
    },
    stopping: (): void => {
      if (terminal) stdout.write('Stopping; a second Ctrl-C stops at once.\n')
      else kernel.log.info('stopping')
    },
  }
}

export const serve = async ({ world, gathered, kernel: create }: OwnContext): Promise<void> => {
  const { signal, forget } = firstSignal(world)
  let stopCollecting: (() => void) | undefined
  try {
    const kernel = await create({ log: await logFor(world), ...terminalOf(world) })
    world.boundHeap?.(kernel.memory.bytes)
    const announce = createAnnouncer(world, kernel)
    const failures: Failure[] = []
    const failed = kernel.failed.then((failure) => void failures.push(failure))
    for (const { variable, about } of unknownVariables(world.environment, gathered.settings))
      kernel.log.warn({ variable }, about)
    try {
      const address = await kernel.listen()
      announce.listening(address)
      const hide = world.stdout.isTTY === true ? showProgress(kernel, world.stdout) : () => undefined
      const ready = kernel
        .start()
        .then(() => true)
        .finally(hide)
      if (await Promise.race([ready, signal.then(() => false)])) {
        announce.ready(address)
        stopCollecting = world.collectWhenIdle?.()
      }
    } catch (error) {
      kernel.log.debug({ err: error }, 'the server could not start')
      await kernel.stop().catch(() => undefined)
      throw new StartFailed(lineOf(error, kernel), failures[0]?.exitCode)
    }
    await Promise.race([signal, failed])
    announce.stopping()
    await kernel.stop()
    const [failure] = failures
    if (failure !== undefined) throw new StartFailed(lineOf(failure.error, kernel), failure.exitCode)
    const { failedToStop } = kernel
    if (failedToStop.length > 0)
      throw new StartFailed(
        `stopped, and not everything could be kept (${failedToStop.join(', ')}); the log says what was lost`,
      )
  } finally {
    stopCollecting?.()
    forget()
  }
}
