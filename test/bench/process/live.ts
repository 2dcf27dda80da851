/** A server with live queries on the definitions that tests of writes need, in a process of its own. */
import { boundHeap } from '../../../cli/bound-heap.ts'
import { type Clock, systemClock } from '../../../kernel/index.ts'
import audit from '../../../plugins/audit/index.ts'
import limits from '../../../plugins/limits/index.ts'
import metering from '../../../plugins/metering/index.ts'
import sync from '../../../plugins/sync/index.ts'
import { type Clinic, clinicWith } from '../../server/writes/clinic.ts'
import { answerWith } from './answer.ts'
import { readMemory } from './read-memory.ts'

const UNREACHED = { max_sync_connections: 100_000, requests_per_second: 1e6, burst: 1e6 }

let advanced = 0
const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + advanced }
let clinic: Clinic | undefined

answerWith({
  /** `watched`: with plugins that count and record requests and connections. */
  async start({ watched = false }: { readonly watched?: boolean } = {}) {
    const server = { bind: '127.0.0.1:0' }
    clinic = watched
      ? await clinicWith({ server, rate_limit: UNREACHED }, [audit, limits, metering, sync], { clock })
      : await clinicWith({ server }, [sync], { clock })
    boundHeap(clinic.server.memory.bytes)
    return clinic.server.listen()
  },
  /** Lets this many milliseconds pass. */
  advance(ms: number) {
    advanced += ms
  },
  memory: readMemory,
  stop: () => clinic?.stop(),
})
