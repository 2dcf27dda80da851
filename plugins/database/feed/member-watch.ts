/** Servers that follow the one that writes, as `cluster_member` has them, and which of them are gone. */
import type { MemberRow } from '../lease/lease-port.ts'

const GONE_MS = 30_000 // since its beat was seen to change

/**
 * Returns a function that is given the rows at each beat of the holder, and the monotonic time in milliseconds. It returns
 * those whose members are gone.
 */
export const createMemberWatch = (): ((rows: readonly MemberRow[], now: number) => readonly MemberRow[]) => {
  let seen: ReadonlyMap<string, { readonly beat: number; readonly since: number }> = new Map()
  return (rows, now) => {
    seen = new Map(
      rows.map(({ server, beat }) => {
        const before = seen.get(server)
        return [server, before?.beat === beat ? before : { beat, since: now }]
      }),
    )
    return rows.filter(({ server }) => now - (seen.get(server)?.since ?? now) >= GONE_MS)
  }
}
