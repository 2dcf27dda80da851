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
  /** True when the request that used the token was in flight together with this one. */
  overlapsWinner(): boolean
  leave(): void
}

export const createRefreshesInFlight = (): RefreshesInFlight => {
  const groups = new Map<string, { active: number; hasWinner: boolean }>()
  return {
    enter(key) {
      const group = groups.get(key) ?? { active: 0, hasWinner: false }
      group.active += 1
      groups.set(key, group)
      return {
        won: () => {
          group.hasWinner = true
        },
        overlapsWinner: () => group.hasWinner,
        leave: () => {
          group.active -= 1
          if (group.active === 0) groups.delete(key)
        },
      }
    },
  }
}
