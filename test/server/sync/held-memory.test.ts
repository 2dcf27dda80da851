/** What an open live query holds, for there are thousands of them. */
// database: sqlite, because what the process holds for a query is the same on all
// process: its own, because it collects the heap again and again, which takes long where other files have filled it
import { once } from 'node:events'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { WebSocket } from 'ws'
import sync from '../../../plugins/sync/index.ts'
import { watchHeldMemory } from '../../support/held-memory.ts'
import { type Clinic, clinicWith } from '../writes/clinic.ts'

const MOST = 3_000 // bytes
const QUERIES = 800
const WARM_UP = 400
const AT_ONCE = 100

const SHAPES: Readonly<Record<string, (at: number) => string>> = {
  'a patient and a code': (at) => `Observation?subject=Patient/p${at}&code=x`,
  'one id': (at) => `Patient?_id=p${at}`,
  'a patient and a day': (at) => `Observation?subject=Patient/p${at}&date=ge2024-02-03`,
  'no match of a code': (at) => `Observation?subject=Patient/p${at}&code:not=x`,
}

let clinic: Clinic
let address: string
test.before(async () => {
  clinic = await clinicWith({ server: { bind: '127.0.0.1:0' } }, [sync])
  address = await clinic.server.listen()
})
test.after(() => clinic.stop())

/** A client that remembers nothing, because it is in the same process. */
const openClient = async (address: string) => {
  const socket = new WebSocket(`${address.replace('http', 'ws')}/sync`)
  let ready = (_id: string): void => undefined
  socket.on('message', (data) => {
    const { op, id } = JSON.parse(data.toString())
    if (op === 'ready') ready(id)
  })
  await once(socket, 'open')
  return {
    async subscribe(queries: readonly { readonly id: string; readonly query: string }[]): Promise<void> {
      const waiting = new Set(queries.map(({ id }) => id))
      const { promise, resolve } = Promise.withResolvers<void>()
      ready = (id) => {
        waiting.delete(id)
        if (waiting.size === 0) resolve()
      }
      for (const one of queries) socket.send(JSON.stringify({ op: 'subscribe', ...one }))
      await promise
      ready = () => undefined
    },
    async close(): Promise<void> {
      const closed = once(socket, 'close')
      socket.close()
      await closed
    },
  }
}

for (const [shape, query] of Object.entries(SHAPES))
  test(`a live query that names ${shape} takes at most ${MOST} bytes`, async () => {
    const client = await openClient(address)
    try {
      let opened = 0
      const open = async (count: number): Promise<void> => {
        for (const end = opened + count; opened < end; opened += AT_ONCE)
          await client.subscribe(
            Array.from({ length: AT_ONCE }, (_, at) => ({ id: `q${opened + at}`, query: query(opened + at) })),
          )
      }
      const held = watchHeldMemory()
      await open(WARM_UP)
      const before = await held()
      await open(QUERIES)
      const each = ((await held()) - before) / QUERIES
      assert.ok(each <= MOST, `${Math.round(each)} bytes`)
    } finally {
      await client.close()
    }
  })

test.run()
