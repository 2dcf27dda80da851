/** Reads, searches, creates and deletes by chance, of which a third more are created than deleted. */
import { load, toGet, toSend } from '../bench/client.ts'
import { MEASURES } from '../bench/corpus/clinical.ts'
import type { Dice } from '../bench/corpus/random.ts'
import { makeBodies, type People } from '../bench/corpus/seed.ts'

const LOCATION = /\r\nlocation: \S+?([A-Z][A-Za-z]+\/[^/\s]+)\/_history/i
const LOINC = 'http://loinc.org'
const VITAL_SIGNS = 'http://terminology.hl7.org/CodeSystem/observation-category|vital-signs'
const MAKE = 1_000 // bodies made at a time
/** Of a hundred requests. */
const READS = 40
const SEARCHES = 30
const CREATES = 20

export interface MixedLoad {
  /** Requests that were answered since the last call. */
  taken(): number
  /** Sends requests for so long; resolves to the number of answers in a second. */
  run(seconds: number): Promise<number>
}

export const createMixedLoad = (address: string, connections: number, dice: Dice, people: People): MixedLoad => {
  const { visits } = people
  const alive: string[] = visits.map(({ encounter }) => encounter)
  /** What may be deleted: nothing refers to it. */
  const created: string[] = []
  let bodies = makeBodies(dice, people, MAKE)
  let at = 0
  let count = 0

  const search = (): string => {
    const query = (pairs: Readonly<Record<string, string>>): string => new URLSearchParams(pairs).toString()
    const code = `${LOINC}|${dice.pick(MEASURES)[0]}`
    switch (dice.below(4)) {
      case 0:
        return `/Patient?${query({ name: `${dice.pick(['Keebler', 'Okafor', 'Novak'])}${10 + dice.below(90)}` })}`
      case 1:
        return `/Observation?${query({ status: 'final', category: VITAL_SIGNS, code, _count: '20' })}`
      case 2:
        return `/Condition?${query({ patient: dice.pick(visits).patient, _sort: '-recorded-date' })}`
      default:
        return `/Observation?${query({ patient: dice.pick(visits).patient, code })}`
    }
  }
  const create = (): Buffer => {
    if (at === bodies.length) {
      bodies = makeBodies(dice, people, MAKE)
      at = 0
    }
    const { type, text } = bodies[at++] as (typeof bodies)[number]
    return toSend(address, 'POST', `/${type}`, text)
  }
  const next = (): Buffer | string => {
    const drawn = dice.below(100)
    if (drawn < READS) {
      const among = created.length > 0 && dice.below(2) === 0 ? created : alive
      return toGet(address, `/${dice.pick(among)}`)
    }
    if (drawn < READS + SEARCHES) return toGet(address, search())
    if (drawn < READS + SEARCHES + CREATES || created.length === 0) return create()
    const chosen = dice.below(created.length)
    const [path] = created.splice(chosen, 1, created.at(-1) as string)
    created.pop()
    return `DELETE /${path} HTTP/1.1\r\nhost: ${address.slice(7)}\r\n\r\n`
  }
  return {
    taken() {
      const taken = count
      count = 0
      return taken
    },
    async run(seconds) {
      const { perSecond } = await load({
        ...{ address, connections, seconds, next },
        onAnswer(head) {
          count += 1
          const reference = LOCATION.exec(`${head}\r\n`)?.[1]
          if (reference !== undefined && head.startsWith('HTTP/1.1 201')) created.push(reference)
        },
        onRefusal(status, text) {
          // A read that met the deletion of its resource.
          if (status !== 410) throw new Error(`answered ${status}: ${text.slice(0, 1000)}`)
        },
      })
      return perSecond
    },
  }
}
