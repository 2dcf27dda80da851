/**
 * The entry that runs the command line with argv, environment, signals and exit of this process; nothing else touches
 * them.
 */
import { firstParty } from '../plugins/index.ts'
import { batchedOutput } from './batched-output.ts'
import { boundHeap } from './bound-heap.ts'
import { collectWhenIdle, processParts } from './collect-when-idle.ts'
import { isHangupIgnored } from './hangup-ignored.ts'
import { run } from './run.ts'
import type { SignalName } from './world.ts'

const isIgnoring = isHangupIgnored(process.env, process.ppid)
const SIGNALS: readonly SignalName[] = isIgnoring ? ['SIGINT', 'SIGTERM'] : ['SIGINT', 'SIGTERM', 'SIGHUP']
if (isIgnoring) process.on('SIGHUP', () => undefined)

const listeners = new Set<(name: SignalName) => void>()
let readerGone = false

// EPIPE, as with `server config | head`: nothing reads the output any more. A command ends; a server stops as at a
// signal.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  if (readerGone) return // a second error would count as a second signal
  readerGone = true
  if (listeners.size === 0) process.exit(0)
  for (const listener of listeners) listener('SIGTERM')
})

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
process.exit(code)
