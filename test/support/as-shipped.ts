/** The options of Node and the environment that `server` starts itself with, for servers that tests start otherwise. */
import process from 'node:process'
import { memoryArguments } from '../../cli/memory-arguments.js'

export interface ShippedStart {
  readonly args: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
}

export const asShipped = (): ShippedStart => {
  const { argv, env, platform, versions, execve } = process
  const wanted = memoryArguments({ argv: argv.slice(0, 2), execArgv: [], env, platform, versions, execve })
  if (wanted === undefined)
    throw new Error('this process has the options itself, or its system cannot replace a process')
  return { args: wanted.args.filter((one) => one.startsWith('--')), environment: wanted.environment }
}
