/**
 * Random changes under live queries of several callers. At every quiet moment each client's sets have to be what its
 * searches find: ids and versions. Connections are cut at random, and resumed.
 */
import { definePlugin, type Restriction } from '../../kernel/index.ts'
import sync from '../../plugins/sync/index.ts'
import { clinicWith, del, type Json, post, put } from '../server/writes/clinic.ts'
import { createChance } from './chance.ts'
import { createManualClock } from './manual-clock.ts'
import { inCompartment } from './restrictions.ts'
import { openSync, type SyncClient } from './sync-client.ts'
import { until } from './until.ts'

export interface RandomChanges {
  readonly quiet: number
  readonly deltas: number
  readonly resumed: number
  readonly faults: readonly string[]
}

const PATIENTS = ['p0', 'p1', 'p2']
const MOST_MADE = 300
const IDS = Array.from({ length: 90 }, (_, at) => `o${at}`)
const QUERIES = [
  'Observation?status=final,amended,preliminary',
  'Observation?subject=Patient/p0',
  'Observation?subject=Patient/p1,Patient/p2&status=final',
  'Observation?code=http://loinc.org|a,b',
  'Observation?status:not=final',
  'Observation?_id=o1,o2,o3',
  'Observation?date=ge2020-06',
  'Observation?subject:missing=true',
  'Observation?subject:Patient.gender=female',
  'Patient?gender=female',
]
const CALLERS = ['all', 'p0', 'moving'] as const
const QUIET_EVERY = 25

/** Half a minute passes in a moment here, so a search that is on its way then has taken too long. */
const isTooLate = (message: Json): boolean => JSON.stringify(message.outcome).includes('was given up after 30 s')

interface Follower {
  readonly caller: string
  client: SyncClient
  /** Queries by id. */
  readonly queries: Map<string, string>
}

export const runRandomChanges = async ({
  changes,
  seed,
  report = () => undefined,
}: {
  readonly changes: number
  readonly seed: number
  readonly report?: (line: string) => void
}): Promise<RandomChanges> => {
  const chance = createChance(seed)
  const pick = <T>(list: readonly T[]): T => list[chance(list.length)] as T
  const rulings = new Map<string, Restriction>([
    ['p0', inCompartment('Patient', 'p0')],
    ['moving', inCompartment('Patient', 'p1')],
  ])
  const callers = definePlugin({
    name: 'callers',
    setup({ hooks }) {
      hooks.authenticate.tap('by name', ({ headers: { authorization = 'Bearer all' } }) => ({
        kind: 'client',
        client: authorization.slice('Bearer '.length),
      }))
      hooks.authorize.tap('restrict', ({ caller: { client = '' } }, _interaction, ruling) => {
        const one = rulings.get(client)
        if (one !== undefined) ruling.restrict(one)
      })
    },
  })
  const clock = createManualClock()
  const clinic = await clinicWith({ server: { bind: '127.0.0.1:0' } }, [callers, sync], { clock })
  const address = await clinic.server.listen()
  const headersOf = (caller: string) => ({ authorization: `Bearer ${caller}` })
  const faults: string[] = []
  let deltas = 0
  let resumed = 0
  let quiet = 0
  let begun = 0

  const count = ({ client }: Follower): void => {
    for (const one of client.messages)
      if (one.op === 'error' && !isTooLate(one)) faults.push(`an error: ${JSON.stringify(one)}`)
    deltas += client.messages.filter(({ op }) => op === 'delta').length
    client.messages.length = 0
    faults.push(...client.faults.splice(0))
  }
  const follow = async (caller: string): Promise<Follower> => {
    const client = await openSync(address, { headers: headersOf(caller) })
    const queries = new Map(QUERIES.map((query, at) => [`q${at}`, query]))
    for (const [id, query] of queries) await client.subscribe(id, query)
    return { caller, client, queries }
  }
  const resource = (): Json => ({
    resourceType: 'Observation',
    status: pick(['final', 'amended', 'preliminary']),
    code: { coding: [{ system: pick(['http://loinc.org', 'http://other']), code: pick(['a', 'b', 'c']) }] },
    ...(chance(6) === 0 ? {} : { subject: { reference: `Patient/${pick(PATIENTS)}` } }),
    effectiveDateTime: pick(['2019-01-01', '2020-06-15', '2021-01-01']),
  })
  const patient = (id: string): Json => ({ resourceType: 'Patient', id, gender: pick(['male', 'female']) })
  const entry = (id: string) => {
    const kind = chance(6)
    return kind === 0 ? del(`Observation/${id}`) : kind === 1 ? post(resource()) : put({ ...resource(), id })
  }
  /** Observations under ids of the server, the oldest first: so many stay that a search shows them on one page. */
  const made: string[] = []
  const keepMade = ({ entry: answers = [] }: Json): void => {
    for (const { response } of answers) {
      const [, id] = /Observation\/([0-9a-f-]{36})\/_history\/1$/.exec(response?.location ?? '') ?? []
      if (id !== undefined) made.push(id)
    }
  }
  const change = async (): Promise<number> => {
    const kind = chance(10)
    const answer = await (async () => {
      if (made.length > MOST_MADE) return clinic.ask('DELETE', `/Observation/${made.shift()}`)
      if (kind === 0) return clinic.ask('DELETE', `/Observation/${pick(IDS)}`)
      if (kind === 1) return put_(patient(pick(PATIENTS)))
      if (kind < 8) return put_({ ...resource(), id: pick(IDS) })
      const ids = new Set([pick(IDS), pick(IDS), pick(IDS), pick(IDS)])
      return clinic.bundle(kind === 8 ? 'transaction' : 'batch', [...ids].map(entry))
    })()
    if (answer.status >= 400) faults.push(`a change was answered with ${answer.status}`)
    if (answer.text.startsWith('{"resourceType":"Bundle"')) keepMade(answer.json)
    return 1
  }
  const put_ = (one: Json) => clinic.ask('PUT', `/${one.resourceType}/${one.id}`, one)

  const found = async (caller: string, query: string): Promise<string> => {
    const [type, text = ''] = query.split('?')
    const { json } = await clinic.ask('GET', `/${type}?${text}&_count=1000`, undefined, { headers: headersOf(caller) })
    return shownOf((json.entry ?? []).map((one: Json) => one.resource))
  }
  const shownOf = (resources: readonly Json[]): string =>
    resources
      .map(({ id, meta }) => `${id}/${meta.versionId}`)
      .sort()
      .join(' ')
  const setOf = ({ client }: Follower, id: string): string => shownOf([...(client.sets.get(id)?.values() ?? [])])

  /** What was reset is subscribed again, as a client would. */
  const mend = async ({ client, queries }: Follower): Promise<void> => {
    for (const [id, query] of queries) if (!client.sets.has(id)) await client.subscribe(id, query)
  }
  const compare = async (follower: Follower): Promise<void> => {
    for (const [id, query] of follower.queries) {
      const expected = await found(follower.caller, query)
      const isAlike = () => setOf(follower, id) === expected
      await (async () => {
        await until(() => isAlike() || !follower.client.sets.has(id), 3_000, query)
        await mend(follower)
        await until(isAlike, 3_000, query)
      })().catch(() => {
        faults.push(`${follower.caller} ${query}\n  has      ${setOf(follower, id)}\n  expected ${expected}`)
      })
    }
  }
  const cutAndResume = async (follower: Follower): Promise<void> => {
    const old = follower.client
    const has = new Map([...old.sets].map(([id, set]) => [id, new Map(set)] as const))
    const ats = new Map([...follower.queries.keys()].map((id) => [id, old.lastAt(id)]))
    count(follower)
    await old.close()
    for (let at = chance(4); at > 0; at -= 1) await change()
    // These may be stored before the resume, during it, or after it.
    const beside = Promise.all(Array.from({ length: chance(4) }, change))
    follower.client = await openSync(address, { headers: headersOf(follower.caller) })
    for (const [id, query] of follower.queries) {
      const had = has.get(id)
      const resume = ats.get(id)
      if (had === undefined || resume === undefined) continue
      follower.client.sets.set(id, had)
      const { op } = await follower.client.subscribe(id, query, resume)
      if (op === 'ready') resumed += 1
    }
    await beside
    await mend(follower)
  }
  /** Begins some queries again while others write. */
  const beginAgain = async ({ client, queries }: Follower): Promise<void> => {
    for (const [id, query] of [...queries]) {
      if (chance(3) > 0) continue
      client.unsubscribe(id)
      queries.delete(id)
      // Another id, because deltas of the old query may be on their way.
      begun += 1
      queries.set(`b${begun}`, query)
      await client.subscribe(`b${begun}`, query)
    }
  }

  for (const id of PATIENTS) await put_(patient(id))
  for (let at = 0; at < 150; at += 1) await put_({ ...resource(), id: pick(IDS) })
  const followers: Follower[] = []
  for (const caller of CALLERS) followers.push(await follow(caller))

  for (let done = 0; done < changes && faults.length === 0; ) {
    const together = 1 + chance(4)
    const changing = Promise.all(Array.from({ length: together }, change))
    if (chance(8) === 0) await beginAgain(pick(followers))
    await changing
    done += together
    if (chance(40) === 0) await cutAndResume(pick(followers))
    if (chance(60) === 0) rulings.set('moving', inCompartment('Patient', pick(PATIENTS)))
    if (done % QUIET_EVERY >= together) continue
    // Half a minute, so that rulings and queries with chains are asked again.
    await clock.advance(31_000)
    for (const one of followers) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      await mend(one)
      await clock.advance(2_000)
      await compare(one)
      count(one)
    }
    quiet += 1
    if (quiet % 100 === 0) report(`${done} changes, ${quiet} quiet moments, ${deltas} deltas, ${resumed} resumed`)
  }
  for (const one of followers) await one.client.close()
  await clinic.stop()
  return { quiet, deltas, resumed, faults }
}
