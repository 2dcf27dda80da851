/**
 * `npm run bench -- <names…> [--rounds n] [--seconds n] [--resources n] [--profile folder] [--peer folder]
 * [--other folder]`: measures what the design asks of storage and prints required and measured side by side. Never part of
 * `npm test`: a loaded machine is no bug.
 */
import { mkdirSync } from 'node:fs'
import { cpus } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Bench, Figure } from './bench.ts'
import { bindCores } from './cores.ts'
import { besideExport } from './figures/beside-export.ts'
import { create, createCpu, transaction } from './figures/create.ts'
import { disk } from './figures/disk.ts'
import { feed } from './figures/feed.ts'
import { hooks } from './figures/hooks.ts'
import { importing } from './figures/import.ts'
import { lease } from './figures/lease.ts'
import { lock } from './figures/lock.ts'
import { otherBuild } from './figures/other-build.ts'
import { peer } from './figures/peer.ts'
import { postgres } from './figures/postgres.ts'
import { postgresTrail } from './figures/postgres-trail.ts'
import { read, readUniform } from './figures/read.ts'
import { relay } from './figures/relay.ts'
import { memory, restart } from './figures/restart.ts'
import { search } from './figures/search.ts'
import { sole } from './figures/sole.ts'
import { tail } from './figures/tail.ts'
import { terminology } from './figures/terminology.ts'
import { terminologyLoad } from './figures/terminology-load.ts'
import { token } from './figures/token.ts'
import { tracing } from './figures/trace.ts'
import { verification } from './figures/verify.ts'
import { housePlugins } from './plugins.ts'
import { printProfiles } from './profile.ts'
import { type Line, toTable } from './table.ts'

const FIGURES: readonly Figure[] = [
  read,
  readUniform,
  create,
  createCpu,
  transaction,
  disk,
  tail,
  restart,
  memory,
  postgres,
  feed,
  lease,
  relay,
  lock,
  postgresTrail,
  search,
  sole,
  importing,
  besideExport,
  hooks,
  token,
  terminology,
  terminologyLoad,
  tracing,
  verification,
  peer,
  otherBuild,
]

const positive = (name: string, value: string): number => {
  const number = Number(value)
  if (!(number > 0)) throw new Error(`--${name} takes a positive number, not ${value}`)
  return number
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    resources: { type: 'string', default: '50000' },
    profile: { type: 'string' },
    peer: { type: 'string' },
    other: { type: 'string' },
  },
})

const list = (): string =>
  ['all', ...FIGURES.map(({ name }) => name)]
    .map(
      (name) => `  ${name.padEnd(14)}${FIGURES.find((figure) => figure.name === name)?.description ?? 'all of them'}`,
    )
    .join('\n')

/** Those that another folder is needed for are left out of `all` without it. */
const isPossible = (name: string): boolean =>
  (name !== peer.name || values.peer !== undefined) && (name !== otherBuild.name || values.other !== undefined)

const wanted = positionals.includes('all') ? FIGURES.map(({ name }) => name).filter(isPossible) : positionals
const unknown = wanted.find((name) => !FIGURES.some((figure) => figure.name === name))

if (wanted.length === 0 || unknown !== undefined) {
  if (unknown !== undefined) console.error(`no figure is called ${unknown}`)
  console.log(
    `npm run bench -- <names…> [--rounds n] [--seconds n] [--resources n] [--profile folder] [--peer folder] [--other folder]\n${list()}`,
  )
  process.exitCode = unknown === undefined ? 0 : 2
} else {
  const profileFolder = values.profile === undefined ? undefined : resolve(values.profile)
  if (profileFolder !== undefined) mkdirSync(profileFolder, { recursive: true })
  const cores = bindCores()
  const lines: Line[] = []
  const bench: Bench = {
    cores,
    rounds: positive('rounds', values.rounds),
    seconds: positive('seconds', values.seconds),
    resources: positive('resources', values.resources),
    profileFolder,
    peerFolder: values.peer === undefined ? undefined : resolve(values.peer),
    otherFolder: values.other === undefined ? undefined : resolve(values.other),
    say: (text) => console.error(`  ${text}`),
    report: (line) => void lines.push(line),
  }
  console.log(`Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}; ${cores.description}`)
  console.log(`plugins: ${housePlugins.map(({ name }) => name).join(', ')}`)
  console.log(`${bench.rounds} rounds of ${bench.seconds} s each in turns, medians of the rounds' ratios\n`)
  for (const name of wanted) {
    console.error(name)
    await FIGURES.find((figure) => figure.name === name)?.run(bench)
  }
  console.log(toTable(lines))
  if (profileFolder !== undefined) console.log(printProfiles(profileFolder))
}
