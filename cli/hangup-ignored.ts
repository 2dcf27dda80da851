/**
 * Was SIGHUP ignored when this process was started, as under nohup? Node sets every signal back to its default before it
 * runs a program, so that has to be told by other traces: the variable that a shell leaves with the command it runs, and
 * the signals that the parent process ignores, which a child inherits. https://pubs.opengroup.org/onlinepubs/9799919799/utilities/nohup.html
 */
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'

const HANGUP_BIT = 0n // SIGHUP is signal 1, the lowest bit

const ignoredByParent = (parent: number): boolean => {
  try {
    const [, mask] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${parent}/status`, 'utf8')) ?? []
    return mask !== undefined && ((BigInt(`0x${mask}`) >> HANGUP_BIT) & 1n) === 1n
  } catch {
    return false // no Linux, or no such process any more
  }
}

export const isHangupIgnored = (environment: Readonly<Record<string, string | undefined>>, parent: number): boolean =>
  basename(environment._ ?? '') === 'nohup' || ignoredByParent(parent)
