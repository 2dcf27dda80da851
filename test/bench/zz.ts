import { toGet } from './client.ts'
import { bindCores } from './cores.ts'
import { createDice } from './corpus/random.ts'
import { makeBodies, seed, seedPeople } from './corpus/seed.ts'
import { createPlace, startHouse } from './house.ts'
import { measure } from './measure.ts'

const bench: any = { cores: bindCores(), say: () => {} }
const place = createPlace()
const house = await startHouse(bench, place)
const dice = createDice(2)
const people = await seedPeople(house.address, dice, 100)
const bodies = makeBodies(dice, people, 3000)
await seed(house.address, bodies)
const seen = bodies
  .filter((b) => b.type === 'Observation')
  .map((b) => [/"subject":\{"reference":"([^"]+)"/.exec(b.text)![1], /loinc\.org","code":"([^"]+)"/.exec(b.text)![1]])
const paths: Record<string, () => string> = {
  selective: () => {
    const [p, c] = dice.pick(seen)
    return `/Observation?${new URLSearchParams({ patient: p!, code: `http://loinc.org|${c}` })}`
  },
  name: () => `/Patient?name=${dice.pick(['Keebler', 'Okafor', 'Novak'])}${10 + dice.below(90)}`,
  tokens: () =>
    `/Observation?${new URLSearchParams({ status: 'final', category: 'http://terminology.hl7.org/CodeSystem/observation-category|vital-signs', code: `http://loinc.org|${dice.pick(seen)[1]}`, _sort: '-_lastUpdated', _count: '20' })}`,
}
const what = process.argv[2]!
const next = () => toGet(house.address, paths[what]!())
const connections = Number(process.argv[3] ?? 16)
await measure(house, { address: house.address, connections, next, seconds: 2 })
for (let i = 0; i < 2; i++) {
  const m = await measure(house, { address: house.address, connections, next, seconds: 2 })
  console.log(what, m.perSecond.toFixed(0), m.cpu.toFixed(0))
}
await house.profile('/tmp/exp/s-' + what + '.cpuprofile', () =>
  measure(house, { address: house.address, connections, next, seconds: 3 }),
)
await house.stop()
place.remove()
