/** The phases of a kernel, and the one function that changes them. */
import { WrongPhase } from './errors.ts'

export type Phase = 'new' | 'configured' | 'set-up' | 'listening' | 'ready' | 'stopping' | 'stopped' | 'failed'

const NEXT: Readonly<Record<Phase, readonly Phase[]>> = {
  new: ['configured'],
  configured: ['set-up'],
  'set-up': ['listening', 'ready', 'stopping', 'failed'],
  listening: ['ready', 'stopping', 'failed'],
  ready: ['stopping', 'failed'],
  stopping: ['stopped'],
  stopped: [],
  failed: ['stopping'],
}

export interface Phases {
  readonly now: Phase
  /** Throws `WrongPhase`, which names both phases, for a transition that is not allowed. */
  enter(next: Phase): void
  isStopping(): boolean
}

export const createPhases = (): Phases => {
  let now: Phase = 'new'
  return {
    get now() {
      return now
    },
    enter(next) {
      if (!NEXT[now].includes(next)) throw WrongPhase(now, next)
      now = next
    },
    isStopping: () => now === 'stopping' || now === 'stopped',
  }
}
