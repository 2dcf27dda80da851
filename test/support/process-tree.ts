/** The running processes and their children: from /proc, or from ps where there is none. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

export interface ProcessTree {
  childrenOf(pid: number): readonly number[]
  /** False for a process that has ended, also when its parent has not waited for it. */
  isRunning(pid: number): boolean
}

export const readProcessTree = (): ProcessTree => {
  const parents = new Map<number, number>()
  for (const line of existsSync('/proc/self/stat') ? fromProc() : fromPs()) {
    const [pid, state, parent] = line
    if (!state.startsWith('Z')) parents.set(pid, parent)
  }
  return {
    childrenOf: (pid) => [...parents].filter(([, parent]) => parent === pid).map(([child]) => child),
    isRunning: (pid) => parents.has(pid),
  }
}

type Line = readonly [pid: number, state: string, parent: number]

const fromProc = (): Line[] =>
  readdirSync('/proc').flatMap((name): Line[] => {
    if (!/^\d+$/.test(name)) return []
    try {
      // The format is `12 (name with or without blanks) S 1 …`
      const [state, parent] = readFileSync(`/proc/${name}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')
      return [[Number(name), state ?? '', Number(parent)]]
    } catch {
      return [] // it has ended
    }
  })

const fromPs = (): Line[] =>
  execFileSync('ps', ['-axo', 'pid=,state=,ppid='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line): Line => {
      const [pid, state, parent] = line.trim().split(/\s+/)
      return [Number(pid), state ?? '', Number(parent)]
    })
