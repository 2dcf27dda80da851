/**
 * `npm run load -- <folder or .tar.zst> [--connections 8] [--kind sqlite|postgres|memory] [--seed 1]`: loads a population
 * of transaction Bundles, as Synthea exports them, into the server as it is shipped, under reference_policy = "strict".
 * Without a path it makes one. Ends with 1 when anything was refused.
 */
import { parseArgs } from 'node:util'
import { startPostgres } from '../support/postgres.ts'
import { bindCores } from './cores.ts'
import { generatePopulation } from './corpus/generated-population.ts'
import { loadPopulation } from './corpus/load-population.ts'
import { readPopulation } from './corpus/population.ts'
import { createDice } from './corpus/random.ts'
import { createPlace, startHouse } from './house.ts'

const MADE = 100 // patients

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    connections: { type: 'string', default: '8' },
    kind: { type: 'string', default: 'sqlite' },
    seed: { type: 'string', default: '1' },
  },
})
const [path] = positionals
const dice = createDice(Number(values.seed))
const bundles = path === undefined ? generatePopulation(dice, MADE) : await readPopulation(path)
const postgres = values.kind === 'postgres' ? await startPostgres({ settings: { fsync: 'on' } }) : undefined
await postgres?.createDatabase('load')
const place = createPlace()
const database = {
  kind: values.kind,
  ...(postgres === undefined ? {} : { postgres_url: postgres.url(undefined, 'load') }),
}
try {
  const house = await startHouse({ cores: bindCores() }, place, {
    settings: { conformance: { reference_policy: 'strict' }, database },
  })
  try {
    const connections = Number(values.connections)
    const before = await house.cpu()
    const loaded = await loadPopulation({ address: house.address, bundles, connections, dice })
    const { micros, rss } = await house.cpu()
    const { resources, seconds, refused } = loaded
    console.log(
      `${values.kind}, ${connections} connections: ${resources} resources of ${loaded.bundles} Bundles in ${seconds.toFixed(1)} s, ` +
        `${Math.round(resources / seconds)}/s, ${Math.round((micros - before.micros) / resources)} µs CPU each, ` +
        `${Math.round(rss / 1024 / 1024)} MB, ${refused.length} Bundles refused`,
    )
    for (const { name, status, text } of refused.slice(0, 10)) console.log(`${name}: ${status} ${text.slice(0, 500)}`)
    process.exitCode = refused.length === 0 ? 0 : 1
  } finally {
    await house.stop()
  }
} finally {
  place.remove()
  await postgres?.stop()
}
