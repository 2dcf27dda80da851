/**
 * Whether SIGHUP was ignored when this process was started, as under nohup. Node resets all signals before it runs a
 * program, so this is inferred from other traces: the variable `_`, in which a shell leaves the command it runs, and
 * the signals that the parent process ignores, which a child inherits.
 * https://pubs.opengroup.org/onlinepubs/9799919799/utilities/nohup.html
 */
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'

const HANGUP_BIT = 0n // SIGHUP is signal 1, the lowest bit

const ignoredByParent = (parent: number): boolean => {
  try {
    const [, mask] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${parent}/status`, 'utf8')) ?? []
    return mask !== undefined && ((BigInt(`0x${mask}`) >> HANGUP_BIT) & 1n) === 1n
  } catch {
    return false // not Linux, or the process has ended
  }
}

export const isHangupIgnored = (environment: Readonly<Record<string, string | undefined>>, parent: number): boolean =>
  basename(environment._ ?? '') === 'nohup' || ignoredByParent(parent)
