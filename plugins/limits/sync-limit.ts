/** Limits connections to /sync per caller, and live queries per connection, on this server. */
import { callerKey } from './caller-key.ts'
import { LiveQueries, SyncConnections } from './errors.ts'
import type { SyncLimit } from './service.ts'

/** Runs `work` at the first call only. */
const once = (work: () => void): (() => void) => {
  let done = false
  return () => {
    if (done) return
    done = true
    work()
  }
}

export const createSyncLimit = (mostConnections: number, mostQueries: number): SyncLimit => {
  const connections = new Map<string, number>()
  return {
    connect(request) {
      const key = callerKey(request)
      const held = connections.get(key) ?? 0
      if (held >= mostConnections) throw SyncConnections(mostConnections)
      connections.set(key, held + 1)
      let queries = 0
      return {
        openQuery() {
          if (queries >= mostQueries) throw LiveQueries(mostQueries)
          queries += 1
        },
        closeQuery() {
          queries -= 1
        },
        close: once(() => {
          const left = (connections.get(key) ?? 1) - 1
          if (left === 0) connections.delete(key)
          else connections.set(key, left)
        }),
      }
    },
  }
}
