/**
 * Many clients on few patients: creates that refer to them, updates, deletions, conditional interactions, and
 * transactions that take two of them in either order. Every answer is counted, with its status and its time.
 */
import { createSeededRandom, type SeededRandom } from '../fuzz/random.ts'

type Json = Record<string, unknown>

export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}
export interface Answer {
  readonly status: number
  readonly text: string
}
export type Send = (request: Request) => Promise<Answer>

export interface LoadOptions {
  readonly clients: number
  readonly patients: number
  readonly seed: number
  /** Asked before each operation. */
  readonly isOver: () => boolean
}

export interface LoadReport {
  /** By operation and status: how often. */
  readonly counts: Readonly<Record<string, number>>
  readonly answers: number
  /** Answers with a status that this load does not explain. */
  readonly faults: readonly string[]
  /** Milliseconds of the longest answer, and the operation. */
  readonly longest: { readonly ms: number; readonly operation: string }
  /** `Observation/id` that were created and not deleted again. */
  readonly kept: readonly string[]
}

const SYSTEM = 'http://example.org/contention'
const FHIR = { 'content-type': 'application/fhir+json' }
/** Success; and what another client may have caused: gone, still referred to, not the only match, a target that is deleted. */
const EXPECTED: ReadonlySet<number> = new Set([200, 201, 204, 404, 409, 410, 412, 422])
const MAX_DELETED = 20 // Observations a client keeps before it deletes one

const patientOf = (number: number, mark: string): Json => ({
  resourceType: 'Patient',
  id: `p${number}`,
  identifier: [{ system: SYSTEM, value: `p${number}` }],
  name: [{ family: mark }],
})
const observationOf = (number: number, mark: string): Json => ({
  resourceType: 'Observation',
  status: 'final',
  code: { text: mark },
  subject: { reference: `Patient/p${number}` },
})
const put = (resource: Json): Json => ({ resource, request: { method: 'PUT', url: `Patient/${resource.id}` } })
const post = (resource: Json): Json => ({ resource, request: { method: 'POST', url: resource.resourceType } })
const transactionOf = (entry: readonly Json[]): string =>
  JSON.stringify({ resourceType: 'Bundle', type: 'transaction', entry })

/** Ends when `isOver` says so and every answer has come. */
export const runLoad = async (send: Send, options: LoadOptions): Promise<LoadReport> => {
  const { clients, patients, seed, isOver } = options
  const counts: Record<string, number> = {}
  const faults: string[] = []
  const kept = new Set<string>()
  let answers = 0
  let longest = { ms: 0, operation: '' }

  const ask = async (operation: string, request: Request): Promise<Answer> => {
    const started = performance.now()
    const answer = await send(request).catch((error): Answer => ({ status: 0, text: String(error) }))
    const ms = performance.now() - started
    const label = `${operation} ${answer.status}`
    counts[label] = (counts[label] ?? 0) + 1
    answers += 1
    if (ms > longest.ms) longest = { ms, operation: label }
    if (!EXPECTED.has(answer.status)) faults.push(`${label} after ${Math.round(ms)} ms: ${answer.text.slice(0, 300)}`)
    return answer
  }
  /** Keeps what was created, and deletes the oldest of this client's when it has many. */
  const create = async (own: string[], resource: Json): Promise<void> => {
    const { status, text } = await ask('create', {
      method: 'POST',
      url: '/Observation',
      headers: FHIR,
      body: JSON.stringify(resource),
    })
    if (status !== 201) return
    const key = `Observation/${(JSON.parse(text) as { id: string }).id}`
    own.push(key)
    kept.add(key)
    if (own.length <= MAX_DELETED) return
    const oldest = own.shift() as string
    kept.delete(oldest)
    await ask('delete-observation', { method: 'DELETE', url: `/${oldest}` })
  }

  const client = async (number: number, random: SeededRandom): Promise<void> => {
    const own: string[] = []
    for (let count = 0; !isOver(); count += 1) {
      const mark = `c${number}-${count}`
      const at = random.int(patients)
      const other = (at + 1 + random.int(patients - 1)) % patients
      const body = JSON.stringify(patientOf(at, mark))
      /** For a condition, which may match a resource that was created without this id. */
      const anonymous = JSON.stringify({ ...patientOf(at, mark), id: undefined })
      const where = `/Patient?identifier=${SYSTEM}|p${at}`
      switch (random.int(10)) {
        case 0:
        case 1:
        case 2:
          await create(own, observationOf(at, mark))
          break
        case 3:
        case 4:
          await ask('update', { method: 'PUT', url: `/Patient/p${at}`, headers: FHIR, body })
          break
        case 5:
          await ask('delete', { method: 'DELETE', url: `/Patient/p${at}` })
          break
        case 6:
          await ask('conditional-create', {
            method: 'POST',
            url: '/Patient',
            headers: { ...FHIR, 'if-none-exist': `identifier=${SYSTEM}|p${at}` },
            body: anonymous,
          })
          break
        case 7:
          await ask('conditional-update', { method: 'PUT', url: where, headers: FHIR, body: anonymous })
          break
        case 8:
          await ask('conditional-delete', { method: 'DELETE', url: where })
          break
        default:
          await ask('transaction', {
            method: 'POST',
            url: '/',
            headers: FHIR,
            body: transactionOf([
              put(patientOf(at, mark)),
              put(patientOf(other, mark)),
              post(observationOf(at, mark)),
              post(observationOf(other, mark)),
            ]),
          })
      }
    }
  }
  for (let number = 0; number < patients; number += 1)
    await ask('update', {
      method: 'PUT',
      url: `/Patient/p${number}`,
      headers: FHIR,
      body: JSON.stringify(patientOf(number, 'first')),
    })
  await Promise.all(
    Array.from({ length: clients }, (_, number) => client(number, createSeededRandom(seed * 1_000 + number))),
  )
  return { counts, answers, faults, longest, kept: [...kept] }
}
