/** What searches are measured over: a population of so many resources, loaded in transactions, and what is asked of it. */
import { load } from '../client.ts'
import { MEASURES } from './clinical.ts'
import { createDice, type Dice } from './random.ts'
import { type Body, makeBodies, type People, seedPeople, toTransactions } from './seed.ts'

const PER_PATIENT = 40
export const FAMILIAR = 250 // patients: those of ten thousand resources
const CHUNK = 20_000 // resources made and sent at a time: a million bodies are more than memory should hold
const BATCH = 100 // of a transaction they are sent in
const LOADERS = 4
const CATEGORY = 'http://terminology.hl7.org/CodeSystem/observation-category|vital-signs'
const LOINC = 'http://loinc.org'

/** `familiar`: as `selective`, but of as many patients in every population. */
export type Asked = 'selective' | 'familiar' | 'name' | 'tokens'

/** Addresses of reads, and addresses of searches by what they look for. */
export interface Searched {
  readonly reads: readonly string[]
  readonly asks: Readonly<Record<Asked, (dice: Dice) => string>>
  /** More of the same, to be created. */
  more(count: number): readonly Body[]
}

/** Patients first, then what refers to them. */
export const populate = async (address: string, size: number, say: (text: string) => void): Promise<Searched> => {
  const dice = createDice(4)
  const patients = Math.ceil(size / PER_PATIENT)
  const { visits } = await seedPeople(address, dice, patients)
  const others = size - patients - visits.length
  for (let at = 0; at < others; at += CHUNK) {
    const bodies = makeBodies(dice, { visits, bytes: 0 }, Math.min(CHUNK, others - at))
    const requests = toTransactions(address, bodies, Math.min(BATCH, bodies.length))
    let sent = 0
    const next = (): Buffer => requests[sent++] as Buffer
    await load({ address, connections: Math.min(LOADERS, requests.length), requests: requests.length, next })
    say(`  ${patients + visits.length + at + bodies.length} of ${size}`)
  }
  const query = (pairs: Readonly<Record<string, string>>): string => new URLSearchParams(pairs).toString()
  const known = visits.filter((_visit, at) => at % Math.ceil(visits.length / FAMILIAR) === 0)
  const codeOf = (with_: Dice): string => `${LOINC}|${with_.pick(MEASURES)[0]}`
  const ofPatient = (with_: Dice, among: People['visits']): string =>
    `/Observation?${query({ patient: with_.pick(among).patient, code: codeOf(with_) })}`
  return {
    reads: visits.map(({ encounter }) => `/${encounter}`),
    asks: {
      selective: (with_) => ofPatient(with_, visits),
      familiar: (with_) => ofPatient(with_, known),
      name: (with_) =>
        `/Patient?${query({ name: `${with_.pick(['Keebler', 'Okafor', 'Novak'])}${10 + with_.below(90)}` })}`,
      tokens: (with_) =>
        `/Observation?${query({ status: 'final', category: CATEGORY, code: codeOf(with_), _count: '20' })}`,
    },
    more: (count) => makeBodies(dice, { visits, bytes: 0 }, count),
  }
}
