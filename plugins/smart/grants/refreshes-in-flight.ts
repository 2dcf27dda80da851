/**
 * Which refreshes by one token overlap on this server. Two tabs of an app may refresh at once: the one that loses stole
 * nothing, so it does not end the family. A request that comes when the winner is gone is a reuse.
 */

export interface RefreshesInFlight {
  /** Call when the request arrives. `key` names the token. */
  enter(key: string): RefreshInFlight
}

export interface RefreshInFlight {
  /** This request has used the token. */
  won(): void
  /**
   * Where the request is that used the token, once one has: `present` when it was in flight together with this one,
   * `gone` when this server had answered it before, `elsewhere` when this server knows nothing of it.
   */
  winner(): 'present' | 'gone' | 'elsewhere'
  /** Call when the request is done; with true when it has used the token and its answer is ready. */
  leave(hasAnswered?: boolean): void
}

const MAX_ANSWERED = 10_000 // winners that are remembered once they are gone

export const createRefreshesInFlight = (): RefreshesInFlight => {
  const groups = new Map<string, { active: number; hasWinner: boolean }>()
  /** Those that were answered last, in the order in which they were. */
  const answered = new Set<string>()
  const remember = (key: string): void => {
    answered.add(key)
    for (const oldest of answered) {
      if (answered.size <= MAX_ANSWERED) return
      answered.delete(oldest)
    }
  }
  return {
    enter(key) {
      const group = groups.get(key) ?? { active: 0, hasWinner: false }
      group.active += 1
      groups.set(key, group)
      return {
        won: () => {
          group.hasWinner = true
        },
        winner() {
          if (group.hasWinner) return 'present'
          return answered.has(key) ? 'gone' : 'elsewhere'
        },
        leave: (hasAnswered = false) => {
          if (hasAnswered) remember(key)
          group.active -= 1
          if (group.active === 0) groups.delete(key)
        },
      }
    },
  }
}
