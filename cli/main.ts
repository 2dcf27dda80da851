/**
 * The entry that runs the command line with argv, environment, signals and exit of this process; nothing else touches
 * them.
 */
import { firstParty } from '../plugins/index.ts'
import { batchedOutput } from './batched-output.ts'
import { boundHeap } from './bound-heap.ts'
import { collectWhenIdle, processParts } from './collect-when-idle.ts'
import { isHangupIgnored } from './hangup-ignored.ts'
import { keepTickShape } from './keep-tick-shape.ts'
import { run } from './run.ts'
import type { SignalName } from './world.ts'

keepTickShape()

const isIgnoring = isHangupIgnored(process.env, process.ppid)
const SIGNALS: readonly SignalName[] = isIgnoring ? ['SIGINT', 'SIGTERM'] : ['SIGINT', 'SIGTERM', 'SIGHUP']
if (isIgnoring) process.on('SIGHUP', () => undefined)

const listeners = new Set<(name: SignalName) => void>()
let readerGone = false
let isServer = false

const REPEAT_MS = 60_000
let saidAt = Number.NEGATIVE_INFINITY

/** A full disk, for example. A command ends; a server goes on without its log, because its data may be elsewhere. */
const onUnwritable = ({ message }: Error): void => {
  if (!isServer) {
    process.stderr.write(`server: the output cannot be written: ${message}\n`)
    process.exit(1)
  }
  const now = performance.now()
  if (now - saidAt < REPEAT_MS) return
  saidAt = now
  process.stderr.write(`server: lines of the log are lost, because they cannot be written: ${message}\n`)
}

// EPIPE, as with `server config | head`: nothing reads the output any more. A command ends; a server stops as at a
// signal.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') return onUnwritable(error)
  if (readerGone) return // a second error would count as a second signal
  readerGone = true
  if (listeners.size === 0) process.exit(0)
  for (const listener of listeners) listener('SIGTERM')
})
// It may be on the same disk, and there is no place to say it.
process.stderr.on('error', () => undefined)

const stdout = batchedOutput(process.stdout)
process.on('exit', stdout.flush)

const code = await run({
  argv: process.argv.slice(2),
  environment: process.env,
  folder: process.cwd(),
  stdout,
  stderr: process.stderr,
  firstParty,
  onSignal: (listener) => {
    isServer = true
    listeners.add(listener)
    for (const name of SIGNALS) process.on(name, listener)
    return () => {
      listeners.delete(listener)
      for (const name of SIGNALS) process.off(name, listener)
    }
  },
  exit: (code) => process.exit(code),
  boundHeap,
  collectWhenIdle: () => collectWhenIdle(processParts()),
})
stdout.flush()
// An error of standard output comes in a later turn.
await new Promise((resolve) => setImmediate(resolve))
process.exit(code)
