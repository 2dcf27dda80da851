/** Pairs of a write at the primary and a read of it at a replica, with the token of the write. P1, P2 and P6 of the replicas. */
import type { ClusterPlace } from './cluster-place.ts'

const CLIENTS = 16
const IDS = 20 // resources of each client, changed in turn

type Json = Record<string, any>

export interface PairsSeen {
  readonly pairs: number
  /** Reads with a token that did not show the write; the first ones in words. */
  readonly stale: readonly string[]
  /** Reads without a token that showed an earlier version than a read before. */
  readonly back: readonly string[]
  /** Searches whose page and included resource were of two states. */
  readonly torn: readonly string[]
}

const JSON_TYPE = { 'content-type': 'application/fhir+json' }

const ask = async (url: string, init?: RequestInit): Promise<{ readonly answer: Response; readonly json: Json }> => {
  const answer = await fetch(url, init)
  return { answer, json: (await answer.json()) as Json }
}

/** A patient and an observation about it, changed by one transaction: both say the same number. */
const changeOf = (id: string, n: number): Json => ({
  resourceType: 'Bundle',
  type: 'transaction',
  entry: [
    {
      resource: { resourceType: 'Patient', id, name: [{ family: `n${n}` }] },
      request: { method: 'PUT', url: `Patient/${id}` },
    },
    {
      resource: {
        resourceType: 'Observation',
        id,
        status: 'final',
        code: { text: `n${n}` },
        subject: { reference: `Patient/${id}` },
      },
      request: { method: 'PUT', url: `Observation/${id}` },
    },
  ],
})

export const readOwnWrites = async ({ primary, replicas }: ClusterPlace, pairs: number): Promise<PairsSeen> => {
  const stale: string[] = []
  const back: string[] = []
  const torn: string[] = []
  let done = 0
  const client = async (own: number): Promise<void> => {
    const newest = new Map<string, number>()
    for (let n = 0; done < pairs; n += 1) {
      done += 1
      const id = `c${own}-${n % IDS}`
      const body = JSON.stringify(changeOf(id, n))
      const { answer, json } = await ask(`${primary}/`, { method: 'POST', headers: JSON_TYPE, body })
      if (answer.status !== 200) throw new Error(`the primary answered ${answer.status}: ${JSON.stringify(json)}`)
      const token = answer.headers.get('x-snapshot') ?? 'none'
      const replica = replicas[(own + n) % replicas.length] as string
      const read = await ask(`${replica}/Patient/${id}`, { headers: { 'x-snapshot': token } })
      if (read.json.name?.[0].family !== `n${n}`)
        stale.push(`${read.answer.status} Patient/${id} n${n}: ${JSON.stringify(read.json.name)}`)
      newest.set(id, Number(read.json.meta?.versionId))
      const other = `c${own}-${(n * 7) % IDS}`
      const again = await ask(`${replica}/Patient/${other}`)
      const version = Number(again.json.meta?.versionId ?? 0)
      if (version < (newest.get(other) ?? 0)) back.push(`Patient/${other} ${version} after ${newest.get(other)}`)
      newest.set(other, Math.max(version, newest.get(other) ?? 0))
      // Of another client, who may be changing it.
      const busy = `c${(own + 1) % CLIENTS}-${n % IDS}`
      const found = await ask(`${replica}/Observation?_id=${busy}&_include=Observation:subject`)
      const [observation, subject] = ((found.json.entry ?? []) as Json[]).map(({ resource }) => resource as Json)
      if (observation !== undefined && observation.code.text !== subject?.name[0].family)
        torn.push(`${busy} ${observation.code.text} ${subject?.name[0].family}`)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, (_, own) => client(own)))
  return { pairs: done, stale, back, torn }
}
