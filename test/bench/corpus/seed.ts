/** Puts resources into the server under test over HTTP, the way its users do: with index rows and everything else. */
import { load, toSend } from '../client.ts'
import { makeCondition, makeEncounter, makeObservation, makePatient } from './clinical.ts'
import type { Dice } from './random.ts'

const CONNECTIONS = 16
const LOCATION = /\r\nlocation: \S+?([A-Z][A-Za-z]+\/[^/\s]+)\/_history/i

export interface Body {
  readonly type: string
  readonly text: string
}

export interface Seeded {
  /** `Patient/…` as the server named them. */
  readonly references: readonly string[]
  /** Bytes of compact JSON of what was taken. */
  readonly bytes: number
  /** Diagnostics of what was refused. */
  readonly refused: readonly string[]
}

/** Creates them all; the order of the answers is not that of the bodies. */
export const seed = async (address: string, bodies: readonly Body[], tolerant = false): Promise<Seeded> => {
  const references: string[] = []
  const refused: string[] = []
  if (bodies.length === 0) return { references, bytes: 0, refused }
  let at = 0
  let bytes = 0
  await load({
    address,
    connections: Math.min(CONNECTIONS, bodies.length),
    requests: bodies.length,
    next: () => {
      const { type, text } = bodies[at++] as Body
      bytes += Buffer.byteLength(text)
      return toSend(address, 'POST', `/${type}`, text)
    },
    onAnswer: (head) => {
      const reference = LOCATION.exec(`${head}\r\n`)?.[1]
      if (reference !== undefined) references.push(reference)
    },
    ...(tolerant ? { onRefusal: (_status, text) => void refused.push(text) } : {}),
  })
  return { references, bytes, refused }
}

export interface People {
  /** A patient with one of his encounters. */
  readonly visits: readonly { readonly patient: string; readonly encounter: string }[]
  readonly bytes: number
}

/** Patients with three encounters each. */
export const seedPeople = async (address: string, dice: Dice, count: number): Promise<People> => {
  const patients = await seed(
    address,
    Array.from({ length: count }, () => ({ type: 'Patient', text: makePatient(dice) })),
  )
  let bytes = patients.bytes
  const visits: { patient: string; encounter: string }[] = []
  for (let n = 0; n < 3; n += 1) {
    // One encounter per patient at a time; which answer belongs to whom does not matter for what is measured.
    const encounters = await seed(
      address,
      patients.references.map((patient) => ({ type: 'Encounter', text: makeEncounter(dice, patient) })),
    )
    bytes += encounters.bytes
    for (const [at, encounter] of encounters.references.entries())
      visits.push({ patient: patients.references[at] as string, encounter })
  }
  return { visits, bytes }
}

/** Nine observations to one condition, each of a visit that is there. */
export const makeBodies = (dice: Dice, { visits }: People, count: number): readonly Body[] =>
  Array.from({ length: count }, (_, at) => {
    const { patient, encounter } = dice.pick(visits)
    return at % 10 === 9
      ? { type: 'Condition', text: makeCondition(dice, patient, encounter) }
      : { type: 'Observation', text: makeObservation(dice, patient, encounter) }
  })

/** A create of each, as bytes. */
export const toCreates = (address: string, bodies: readonly Body[]): readonly Buffer[] =>
  bodies.map(({ type, text }) => toSend(address, 'POST', `/${type}`, text))

/** Transactions of `batch` creates each, as bytes. */
export const toTransactions = (address: string, bodies: readonly Body[], batch: number): readonly Buffer[] =>
  Array.from({ length: Math.floor(bodies.length / batch) }, (_, at) => {
    const entries = bodies
      .slice(at * batch, (at + 1) * batch)
      .map(({ type, text }) => `{"resource":${text},"request":{"method":"POST","url":"${type}"}}`)
    return toSend(address, 'POST', '/', `{"resourceType":"Bundle","type":"transaction","entry":[${entries.join(',')}]}`)
  })
