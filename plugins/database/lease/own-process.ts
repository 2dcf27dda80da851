/** Who this process is, and whether the process of a recorded lease is known to be gone. */
import { existsSync, readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { hidesProcesses } from './hides-processes.ts'
import type { Claimant } from './lease-port.ts'

/**
 * Changes with each start of the machine, and differs between containers, whose processes have ids of their own. Empty
 * where the system shows neither, or hides processes of other users: then no process is known to be gone.
 */
const bootOf = (): string => {
  try {
    if (hidesProcesses(readFileSync('/proc/self/mountinfo', 'utf8'))) return ''
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return ''
  }
}

export type OwnProcess = Pick<Claimant, 'server' | 'host' | 'boot' | 'pid'>

export const ownProcess = (server: string, build: string): Claimant => ({
  server,
  host: hostname(),
  boot: bootOf(),
  pid: process.pid,
  build,
})

/** False where that is not known, such as for a process of another machine. */
export const isProcessGone =
  (self: OwnProcess) =>
  ({ host, boot, pid }: OwnProcess): boolean =>
    boot !== '' && boot === self.boot && host === self.host && !existsSync(`/proc/${pid}`)
