/** Figure 11: the database file, indexes included, against the compact JSON of what was stored. */
import type { Bench, Figure } from '../bench.ts'
import { readExamples } from '../corpus/examples.ts'
import { createDice } from '../corpus/random.ts'
import { makeBodies, seed, seedPeople } from '../corpus/seed.ts'
import { createPlace, type House, startHouse } from '../house.ts'
import { megabytes, times } from '../table.ts'

const REQUIRED = 0.8
const CLINICAL = 20_000 // resources

/** Stops the server, which moves the log into the file, and tells how far `fill` made the file grow. */
const measureGrowth = async (
  bench: Bench,
  fill: (house: House) => Promise<{ bytes: number; note: string }>,
): Promise<{ json: number; grown: number; before: number; note: string }> => {
  const place = createPlace()
  try {
    // An example refers to what is not among the examples.
    const settings = { conformance: { reference_policy: 'fhir' } }
    await (await startHouse(bench, place, { settings })).stop()
    const before = place.size()
    const house = await startHouse(bench, place, { settings })
    let filled = { bytes: 0, note: '' }
    try {
      filled = await fill(house)
    } finally {
      await house.stop()
    }
    return { json: filled.bytes, grown: place.size() - before, before, note: filled.note }
  } finally {
    place.remove()
  }
}

const fillExamples = async ({ address }: House): Promise<{ bytes: number; note: string }> => {
  const taken: number[] = []
  let refused = 0
  // One at a time, so that what is refused is known.
  for (const body of readExamples()) {
    const answer = await seed(address, [body], true)
    if (answer.refused.length === 0) taken.push(answer.bytes)
    else refused += 1
  }
  return { bytes: taken.reduce((sum, bytes) => sum + bytes, 0), note: `${taken.length} taken, ${refused} refused` }
}

const fillClinical = async ({ address }: House): Promise<{ bytes: number; note: string }> => {
  const dice = createDice(3)
  const people = await seedPeople(address, dice, Math.floor(CLINICAL / 30))
  const bodies = makeBodies(dice, people, Math.floor((CLINICAL * 26) / 30))
  const { bytes } = await seed(address, bodies)
  return { bytes: people.bytes + bytes, note: `${CLINICAL} resources` }
}

export const disk: Figure = {
  name: 'disk',
  description: 'bytes of the database file against compact JSON: R4 examples, and a clinical corpus',
  async run(bench) {
    for (const [name, fill] of [
      ['R4 examples', fillExamples],
      ['clinical corpus', fillClinical],
    ] as const) {
      bench.say(`storing the ${name}`)
      const { json, grown, before, note } = await measureGrowth(bench, fill)
      const ratio = grown / json
      bench.report({
        figure: `11 disk, ${name}`,
        required: `≤ ${times(REQUIRED)}`,
        measured: times(ratio),
        spread: '',
        ok: ratio <= REQUIRED,
        beside: `${megabytes(grown)} for ${megabytes(json)} of JSON, ${note}; the empty database with its package ${megabytes(before)}`,
      })
    }
  },
}
