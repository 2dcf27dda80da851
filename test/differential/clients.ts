/**
 * Many clients at once, each doing at random what may meet what the others do: conditional creates, updates, patches and
 * deletes, changes with If-Match, labels, transactions. What was answered is kept, for check.ts to hold against history.
 */
import { createSeededRandom, type SeededRandom } from '../fuzz/random.ts'

type Json = Record<string, any>

export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: string
  readonly headers?: Record<string, string>
  readonly payload?: string
}
export interface Answer {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}
export type Send = (request: Request) => Promise<Answer>

/** What a change did to the version before, to be replayed. */
export type Effect =
  | { readonly kind: 'put'; readonly key: string; readonly mark: string }
  | { readonly kind: 'name' | 'text' | 'tag'; readonly mark: string }

/** A change that was answered as made. */
export interface Made {
  readonly id: string
  readonly version: number
  readonly effect: Effect
}

export interface Outcome {
  readonly made: readonly Made[]
  /** Deletions answered with the version they made. */
  readonly deletions: number
  /** By operation and status: how often. */
  readonly counts: Readonly<Record<string, number>>
  /** Statuses that no client should see. */
  readonly faults: readonly string[]
}

const SYSTEM = 'http://example.org/key'
const JSON_PATCH = 'application/json-patch+json'
const MERGE_PATCH = 'application/merge-patch+json'
const FHIR = 'application/fhir+json'
const KEYS = 12

const patient = (key: string, mark: string): Json => ({
  resourceType: 'Patient',
  identifier: [{ system: SYSTEM, value: key }],
  name: [{ family: mark }],
})

const namePatch = (mark: string): string => JSON.stringify([{ op: 'add', path: '/name/-', value: { family: mark } }])
const textPatch = (mark: string): string => JSON.stringify({ maritalStatus: { text: mark } })
const pathPatch = (mark: string): string =>
  JSON.stringify({
    resourceType: 'Parameters',
    parameter: [
      {
        name: 'operation',
        part: [
          { name: 'type', valueCode: 'add' },
          { name: 'path', valueString: 'Patient' },
          { name: 'name', valueString: 'name' },
          { name: 'value', valueHumanName: { family: mark } },
        ],
      },
    ],
  })
const labels = (mark: string): string =>
  JSON.stringify({
    resourceType: 'Parameters',
    parameter: [{ name: 'meta', valueMeta: { tag: [{ system: SYSTEM, code: mark }] } }],
  })

const versionOf = ({ headers }: Answer): number => Number(/"(\d+)"/.exec(String(headers.etag))?.[1])

/** What may be answered besides success: somebody else was faster, or there is nothing to change. */
const EXPECTED = new Set([404, 409, 410, 412])

export const runClients = async (
  send: Send,
  { clients, operations, seed }: { readonly clients: number; readonly operations: number; readonly seed: number },
): Promise<Outcome> => {
  const made: Made[] = []
  const counts: Record<string, number> = {}
  const faults: string[] = []
  let deletions = 0
  let left = operations

  const tell = (name: string, { statusCode, body }: Answer): boolean => {
    const label = `${name} ${statusCode}`
    counts[label] = (counts[label] ?? 0) + 1
    const isMade = statusCode < 300
    if (!isMade && !EXPECTED.has(statusCode)) faults.push(`${label}: ${body.slice(0, 300)}`)
    return isMade
  }
  const keep = (name: string, answer: Answer, effect: Effect): void => {
    if (!tell(name, answer)) return
    made.push({ id: (JSON.parse(answer.body) as Json).id, version: versionOf(answer), effect })
  }

  const client = async (number: number, random: SeededRandom): Promise<void> => {
    for (let count = 0; left > 0; count += 1) {
      left -= 1
      const mark = `c${number}-${count}`
      const key = `k${random.int(KEYS)}`
      const where = `/Patient?identifier=${SYSTEM}|${key}`
      const body = JSON.stringify(patient(key, mark))
      const headers = { 'content-type': FHIR }
      switch (random.int(12)) {
        case 0:
        case 1: {
          const condition = { ...headers, 'if-none-exist': `identifier=${SYSTEM}|${key}` }
          const answer = await send({ method: 'POST', url: '/Patient', headers: condition, payload: body })
          if (answer.statusCode === 200) tell('create', answer)
          else keep('create', answer, { kind: 'put', key, mark })
          break
        }
        case 2:
        case 3:
          keep('update', await send({ method: 'PUT', url: where, headers, payload: body }), { kind: 'put', key, mark })
          break
        case 4:
        case 5: {
          const typed = { 'content-type': JSON_PATCH }
          const answer = await send({ method: 'PATCH', url: where, headers: typed, payload: namePatch(mark) })
          keep('json-patch', answer, { kind: 'name', mark })
          break
        }
        case 6: {
          const answer = await send({ method: 'PATCH', url: where, headers, payload: pathPatch(mark) })
          keep('fhirpath-patch', answer, { kind: 'name', mark })
          break
        }
        case 7: {
          const typed = { 'content-type': MERGE_PATCH }
          const answer = await send({ method: 'PATCH', url: where, headers: typed, payload: textPatch(mark) })
          keep('merge-patch', answer, { kind: 'text', mark })
          break
        }
        case 8: {
          if (random.int(4) > 0) break
          const answer = await send({ method: 'DELETE', url: where })
          if (tell('delete', answer) && answer.headers.etag !== undefined) deletions += 1
          break
        }
        case 9: {
          const found = JSON.parse((await send({ method: 'GET', url: where })).body) as Json
          const current = found.entry?.[0]?.resource as Json | undefined
          if (current === undefined) break
          const matching = { 'content-type': JSON_PATCH, 'if-match': `W/"${current.meta.versionId}"` }
          const url = `/Patient/${current.id}`
          const answer = await send({ method: 'PATCH', url, headers: matching, payload: namePatch(mark) })
          keep('if-match', answer, { kind: 'name', mark })
          if (answer.statusCode < 300 && versionOf(answer) !== Number(current.meta.versionId) + 1)
            faults.push(`if-match ${current.meta.versionId} made ${versionOf(answer)}`)
          break
        }
        case 10: {
          const found = JSON.parse((await send({ method: 'GET', url: where })).body) as Json
          const id = found.entry?.[0]?.resource.id as string | undefined
          if (id === undefined) break
          const answer = await send({ method: 'POST', url: `/Patient/${id}/$meta-add`, headers, payload: labels(mark) })
          if (!tell('meta-add', answer)) break
          const { versionId } = (JSON.parse(answer.body) as Json).parameter[0].valueMeta
          made.push({ id, version: Number(versionId), effect: { kind: 'tag', mark } })
          break
        }
        default: {
          const other = `k${(Number(key.slice(1)) + 1 + random.int(KEYS - 1)) % KEYS}`
          const entry = [
            { request: { method: 'PUT', url: where.slice(1) }, resource: patient(key, mark) },
            {
              request: { method: 'POST', url: 'Patient', ifNoneExist: `identifier=${SYSTEM}|${other}` },
              resource: patient(other, mark),
            },
          ]
          const payload = JSON.stringify({ resourceType: 'Bundle', type: 'transaction', entry })
          const answer = await send({ method: 'POST', url: '/', headers, payload })
          if (!tell('transaction', answer)) break
          for (const [at, { response }] of (JSON.parse(answer.body) as Json).entry.entries()) {
            if (at === 1 && response.status.startsWith('200')) continue
            const [, id = '', version] = /Patient\/([^/]+)\/_history\/(\d+)/.exec(response.location ?? '') ?? []
            const effect: Effect = { kind: 'put', key: at === 0 ? key : other, mark }
            // An update that changed something has no location; its mark finds it.
            made.push({ id, version: Number(version ?? /"(\d+)"/.exec(response.etag)?.[1]), effect })
          }
        }
      }
    }
  }
  await Promise.all(
    Array.from({ length: clients }, (_, number) => client(number, createSeededRandom(seed * 1_000 + number))),
  )
  return { made, deletions, counts, faults }
}
