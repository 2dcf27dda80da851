/** Clients that create, update, read their own writes and search, and record the answers. */
import type { Acknowledged } from '../support/losses.ts'

const PAUSE_MS = 20 // after a refusal
const LATE_MS = 40_000 // after which a client gives up

type Json = Record<string, any>

export interface MixedClients {
  readonly known: Acknowledged
  /** Number of answers by status; 0 where none came. */
  readonly statuses: ReadonlyMap<number, number>
  /** Wrong answers: stale reads, unexpected statuses, refusals that are no OperationOutcome. */
  readonly faults: readonly string[]
  acknowledged(): number
  stop(): Promise<void>
}

const EXPECTED: ReadonlySet<number> = new Set([0, 200, 201, 503])
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

export const startMixedClients = (address: string, count: number): MixedClients => {
  const known = { created: [] as string[], versions: new Map<string, number>() }
  const statuses = new Map<number, number>()
  const faults: string[] = []
  let acknowledged = 0
  let isOver = false

  /** Undefined for every answer but a success. */
  const ask = async (method: string, path: string, body?: Json, snapshot?: string | null) => {
    const headers = {
      ...(body && { 'content-type': 'application/fhir+json' }),
      ...(snapshot && { 'x-snapshot': snapshot }),
    }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await fetch(`${address}${path}`, { method, headers, ...sent, signal: AbortSignal.timeout(LATE_MS) })
      .then(async (one) => ({ status: one.status, snapshot: one.headers.get('x-snapshot'), text: await one.text() }))
      .catch(() => ({ status: 0, snapshot: null, text: '' }))
    const { status, text } = answer
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (!EXPECTED.has(status)) faults.push(`${method} ${path} ${status} ${text.slice(0, 200)}`)
    if (status === 200 || status === 201) return { snapshot: answer.snapshot, json: JSON.parse(text) as Json }
    if (status === 503 && !text.startsWith('{"resourceType":"OperationOutcome"'))
      faults.push(`a refusal of ${method} ${path} is ${text.slice(0, 100)}`)
    await pause(PAUSE_MS)
    return undefined
  }
  const create = async (): Promise<void> => {
    const made = await ask('POST', '/Patient', { resourceType: 'Patient', active: true })
    if (made === undefined) return
    acknowledged += 1
    known.created.push(made.json.id)
    const found = await ask('GET', `/Patient?_id=${made.json.id}`, undefined, made.snapshot)
    if (found !== undefined && found.json.entry?.length !== 1) faults.push(`Patient/${made.json.id} was not found`)
  }
  const update = async (id: string, n: number): Promise<void> => {
    const made = await ask('PUT', `/Basic/${id}`, { resourceType: 'Basic', id, code: { text: `${n}` } })
    if (made === undefined) return
    acknowledged += 1
    const version = Number(made.json.meta.versionId)
    if (version <= (known.versions.get(id) ?? 0)) faults.push(`Basic/${id} got the version ${version} twice`)
    known.versions.set(id, version)
    const read = await ask('GET', `/Basic/${id}`, undefined, made.snapshot)
    if (read !== undefined && Number(read.json.meta.versionId) < version)
      faults.push(`Basic/${id} was read as ${read.json.meta.versionId} after ${version}`)
  }
  const work = async (own: number): Promise<void> => {
    for (let n = 0; !isOver; n += 1) {
      await create()
      await update(`w${own}`, n)
      await ask('GET', '/Patient?_count=10')
    }
  }
  const running = Promise.all(Array.from({ length: count }, (_, own) => work(own)))
  return {
    ...{ known, statuses, faults },
    acknowledged: () => acknowledged,
    async stop() {
      isOver = true
      await running
    },
  }
}
