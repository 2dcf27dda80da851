/** The command line of this process: the only place that hands out argv, environment, signals and the exit. */
import { firstParty } from '../plugins/index.ts'
import { run } from './run.ts'
import type { SignalName } from './world.ts'

const SIGNALS: readonly SignalName[] = ['SIGINT', 'SIGTERM']

// The reader went away (`server config | head`): there is nobody left to say anything to.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

const code = await run({
  argv: process.argv.slice(2),
  environment: process.env,
  folder: process.cwd(),
  stdout: process.stdout,
  stderr: process.stderr,
  firstParty,
  onSignal: (listener) => {
    for (const name of SIGNALS) process.on(name, listener)
    return () => {
      for (const name of SIGNALS) process.off(name, listener)
    }
  },
  exit: (code) => process.exit(code),
})
process.exit(code)
