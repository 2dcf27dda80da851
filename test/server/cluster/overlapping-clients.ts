/**
 * Clients that read and write a few resources at once, whose answers are compared: a read shows no version that is older
 * than one that was acknowledged or shown to any client before the read was sent, and none that was refused.
 */
import type { SeededRandom } from '../../fuzz/random.ts'
import type { DatabaseWatch } from '../../support/watched-database.ts'
import { createKnownVersions, type KnownVersions } from './known-versions.ts'

type Json = Record<string, any>

export interface Answered {
  readonly status: number
  readonly etag: string
  readonly body: string
}
export type Send = (method: string, url: string, body?: object, headers?: Record<string, string>) => Promise<Answered>

export interface Findings {
  /** Sentences about wrong answers. */
  readonly wrong: readonly string[]
  /** Number of answers by kind of request and status. */
  readonly counts: Readonly<Record<string, number>>
  /** Number of versions that were shown. */
  readonly shown: number
}

const SYSTEM = 'http://example.org/number'
const FAMILIES = ['Ash', 'Birch', 'Cedar']
const MAX_HELD = 4 // answers of the database at a time
const numberOf = (etag: string): number => Number(/"(\d+)"/.exec(etag)?.[1])
const IDS = ['r0', 'r1', 'r2', 'r3']

/** Holds some answers of the database until other requests have ended, so that they come late. */
const createHold = (random: SeededRandom) => {
  const waiting = new Set<{ left: number; readonly go: () => void }>()
  let isOver = false
  return {
    hold(): Promise<void> | undefined {
      if (isOver || waiting.size >= MAX_HELD || !random.chance(0.3)) return undefined
      return new Promise((resolve) => void waiting.add({ left: 1 + random.int(12), go: resolve }))
    },
    /** A request has ended. */
    tick(): void {
      for (const one of waiting) {
        one.left -= 1
        if (one.left > 0) continue
        waiting.delete(one)
        one.go()
      }
    },
    /** Nothing is held any more. */
    release(): void {
      isOver = true
      for (const { go } of waiting) go()
    },
  }
}

const patient = (id: string, family: string, mark: string): Json => ({
  resourceType: 'Patient',
  id,
  identifier: [{ system: SYSTEM, value: id }],
  name: [{ family, given: [mark] }],
})

const markOf = (resource: Json): string => resource.name[0].given[0]

const createReader = (send: Send, model: KnownVersions, random: SeededRandom) => {
  const { known, newestOf, show, deletionsOf } = model
  const showResource = (what: string, resource: Json, atLeast: number): void =>
    show(what, resource.id, Number(resource.meta.versionId), markOf(resource), atLeast)

  const read = async (id: string): Promise<string> => {
    const atLeast = newestOf(id)
    const { status, etag, body } = await send('GET', `/Patient/${id}`)
    if (status === 200) showResource('read', JSON.parse(body), atLeast)
    else if (status === 410) show('read', id, numberOf(etag), undefined, atLeast)
    else if (status === 404 && atLeast > 0) known.wrong.push(`read shows no ${id}, ${atLeast} was known before`)
    return `read ${status}`
  }
  const readIfChanged = async (id: string): Promise<string> => {
    const atLeast = newestOf(id)
    const { status, etag, body } = await send('GET', `/Patient/${id}`, undefined, { 'if-none-match': `W/"${atLeast}"` })
    if (status === 200) showResource('conditional read', JSON.parse(body), atLeast)
    if (status === 304 && !(numberOf(etag) >= atLeast))
      known.wrong.push(`304 with ${etag}, ${atLeast} was known before`)
    return `conditional read ${status}`
  }
  const history = async (id: string): Promise<string> => {
    const atLeast = newestOf(id)
    const { status, body } = await send('GET', `/Patient/${id}/_history?_count=1`)
    if (status === 200) {
      const [{ resource, response }] = JSON.parse(body).entry
      show('history', id, numberOf(response.etag), resource && markOf(resource), atLeast)
    }
    return `history ${status}`
  }
  const vread = async (id: string): Promise<string> => {
    const version = newestOf(id)
    if (version === 0) return 'vread of nothing'
    const { status, body } = await send('GET', `/Patient/${id}/_history/${version}`)
    if (status === 200) show('vread', id, version, markOf(JSON.parse(body)), version)
    else if (status === 404) known.wrong.push(`vread shows no ${id}/${version}`)
    return `vread ${status}`
  }
  const search = async (query: string, wanted: string | undefined): Promise<string> => {
    const atLeast = new Map(IDS.map((id) => [id, newestOf(id)]))
    const gone = new Map(IDS.map((id) => [id, { ...deletionsOf(id), was: known.isDeleted.get(id) ?? true }]))
    const { status, body } = await send('GET', `/Patient?${query}`)
    if (status !== 200) return `search ${status}`
    const found: Json[] = (JSON.parse(body).entry ?? []).map(({ resource }: Json) => resource)
    for (const resource of found) {
      showResource(query, resource, atLeast.get(resource.id) ?? 0)
      if (wanted === undefined && !query.endsWith(resource.name[0].family))
        known.wrong.push(`${query} shows ${resource.name[0].family}`)
    }
    if (wanted !== undefined && found.length === 0) {
      const { sent, ended, was } = gone.get(wanted)!
      const mayBeGone = was || sent > ended || deletionsOf(wanted).sent > sent
      if (!mayBeGone) known.wrong.push(`${query} finds nothing, ${wanted}/${atLeast.get(wanted)} was known before`)
    }
    return `search ${status}`
  }

  return (): Promise<string> => {
    const id = random.pick(IDS)
    switch (random.int(10)) {
      case 0:
        return history(id)
      case 1:
        return vread(id)
      case 2:
        return readIfChanged(id)
      case 3:
      case 4:
        return search(`identifier=${SYSTEM}|${id}`, id)
      case 5:
        return search(`family=${random.pick(FAMILIES)}`, undefined)
      default:
        return read(id)
    }
  }
}

/** `isUnknown`: whether the outcome of a write with this status is unknown. */
const createWriter = (
  send: Send,
  model: KnownVersions,
  random: SeededRandom,
  isUnknown: (status: number) => boolean,
) => {
  const { known, newestOf, acknowledge, deletionsOf } = model
  /** Records the outcome of a write for its marks. */
  const recordOutcome = (status: number, marks: readonly string[]): boolean => {
    if (status < 300) return true
    if (!isUnknown(status)) for (const mark of marks) known.refused.add(mark)
    return false
  }
  const made = (what: string, id: string, { status, etag }: Answered, mark: string): string => {
    if (recordOutcome(status, [mark])) acknowledge(what, id, numberOf(etag), mark)
    return `${what} ${status}`
  }
  const put = async (id: string, mark: string, headers: Record<string, string> = {}): Promise<string> =>
    made('update', id, await send('PUT', `/Patient/${id}`, patient(id, random.pick(FAMILIES), mark), headers), mark)
  const patch = async (id: string, mark: string): Promise<string> => {
    const headers = { 'content-type': 'application/merge-patch+json' }
    const body = { name: [{ family: random.pick(FAMILIES), given: [mark] }] }
    return made('patch', id, await send('PATCH', `/Patient/${id}`, body, headers), mark)
  }
  const remove = async (id: string): Promise<string> => {
    const count = deletionsOf(id)
    count.sent += 1
    const { status, etag } = await send('DELETE', `/Patient/${id}`)
    if (!isUnknown(status)) count.ended += 1
    if (status < 300 && etag !== '') acknowledge('delete', id, numberOf(etag), undefined)
    return `delete ${status}`
  }
  const transaction = async (id: string, mark: string, isRefused: boolean): Promise<string> => {
    const other = IDS[(IDS.indexOf(id) + 1 + random.int(IDS.length - 1)) % IDS.length] as string
    const ids = [id, other]
    const entry = ids.map((one) => ({
      resource: patient(one, random.pick(FAMILIES), `${mark}-${one}`),
      request: {
        method: 'PUT',
        url: `Patient/${one}`,
        ...(isRefused && one === other ? { ifMatch: 'W/"999999"' } : {}),
      },
    }))
    const { status, body } = await send('POST', '/', { resourceType: 'Bundle', type: 'transaction', entry })
    const marks = ids.map((one) => `${mark}-${one}`)
    if (recordOutcome(status, marks))
      for (const [at, { response }] of (JSON.parse(body).entry as Json[]).entries())
        acknowledge('transaction', ids[at] as string, numberOf(response.etag), marks[at])
    return `transaction ${status}`
  }
  return (mark: string): Promise<string> => {
    const id = random.pick(IDS)
    switch (random.int(10)) {
      case 0:
      case 1:
        return put(id, mark, { 'if-match': `W/"${newestOf(id)}"` })
      case 2:
        return patch(id, mark)
      case 3:
        return remove(id)
      case 4:
        return transaction(id, mark, false)
      case 5:
        return transaction(id, mark, true)
      default:
        return put(id, mark)
    }
  }
}

export interface ClientsOptions {
  readonly send: Send
  readonly random: SeededRandom
  readonly watch: DatabaseWatch
  readonly writers: number
  readonly readers: number
  /** Asked before each write. */
  readonly goesOn: () => boolean
  /** Whether the outcome of a write with this status is unknown. */
  readonly isUnknown?: (status: number) => boolean
  /** PostgreSQL crashes meanwhile: versions that were not acknowledged may be lost, and their numbers used again. */
  readonly crashes?: boolean
}

export const runOverlapping = async (options: ClientsOptions): Promise<Findings> => {
  const { send, random, watch, writers, readers, goesOn, isUnknown = () => false, crashes = false } = options
  const model = createKnownVersions(crashes)
  const { hold, tick, release } = createHold(random)
  const counts: Record<string, number> = {}
  const count = (label: string): void => {
    counts[label] = (counts[label] ?? 0) + 1
    tick()
  }
  watch.behindOne = hold
  watch.behind = async () => hold()
  let writing = writers
  const runWriter = async (_: unknown, number: number): Promise<void> => {
    const write = createWriter(send, model, random, isUnknown)
    for (let n = 0; goesOn(); n += 1) count(await write(`w${number}-${n}`))
    writing -= 1
    if (writing === 0) release()
  }
  const runReader = async (): Promise<void> => {
    const read = createReader(send, model, random)
    while (writing > 0) count(await read())
  }
  await Promise.all([...Array.from({ length: writers }, runWriter), ...Array.from({ length: readers }, runReader)])
  watch.behindOne = undefined
  watch.behind = undefined
  const { known } = model
  for (const mark of known.seen) if (known.refused.has(mark)) known.wrong.push(`${mark} was refused and is shown`)
  return { wrong: known.wrong, counts, shown: known.shown }
}
