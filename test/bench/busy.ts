/**
 * A loop that only counts, on the core of the load. Two cores of a virtual machine are seldom two: what one of them does
 * makes the other one slower, whatever it is. Measured beside this, only what is owed to the work itself is left.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/** Runs it for as long as `work` takes. It inherits the core of this process. */
export const besideBusyCore = async <T>(work: () => Promise<T>): Promise<T> => {
  const child: ChildProcess = spawn(process.execPath, ['-e', "process.stdout.write('.'); for (;;);"], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  try {
    await once(child.stdout as NodeJS.ReadableStream, 'data')
    return await work()
  } finally {
    child.kill('SIGKILL')
    await ended
  }
}
