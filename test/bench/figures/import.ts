/** Imports of NDJSON against raw inserts of the very same rows in batches of 250, in turns, on SQLite and on PostgreSQL. */
import { writeFileSync } from 'node:fs'
import { startPostgres } from '../../support/postgres.ts'
import type { Bench, Figure } from '../bench.ts'
import { compare, type Round } from '../compare.ts'
import { makeCondition, makeObservation, makePatient } from '../corpus/clinical.ts'
import { createDice, type Dice } from '../corpus/random.ts'
import { createPlace, type Place } from '../house.ts'
import { type Subject, startSubject } from '../process/subject.ts'
import { both, percent } from '../table.ts'
import { createPostgresReplay } from './replay-postgres.ts'

const RECORDS = 5_000 // of a file
const BATCH = 250 // resources of a transaction, as `server import` has
const PATIENTS = 200
const REQUIRED = 0.6

interface Done {
  readonly done: number
  readonly seconds: number
  readonly micros: number
}

const toRound = ({ done, seconds, micros }: Done): Round => ({
  perSecond: done / seconds,
  cpu: micros / done,
  busy: micros / 1_000_000 / seconds,
})

/** Makes files with new resources, each under an id, as those of an export have. */
const createFiles = (place: Place, dice: Dice) => {
  let files = 0
  const withId = (json: string, id: string): string => json.replace('{', `{"id":"${id}",`)
  return (): string => {
    files += 1
    const lines = Array.from({ length: RECORDS }, (_, at) => {
      const patient = `Patient/p${files}-${at % PATIENTS}`
      const id = `${at < PATIENTS ? 'p' : 'r'}${files}-${at}`
      if (at < PATIENTS) return withId(makePatient(dice), id)
      const make = at % 10 === 9 ? makeCondition : makeObservation
      return withId(make(dice, patient, `Encounter/e${files}-${at % PATIENTS}`), id)
    })
    const path = place.path(`round-${files}.ndjson`)
    writeFileSync(path, lines.join('\n'))
    return path
  }
}

interface Side {
  readonly database: Readonly<Record<string, unknown>>
  mark(): Promise<unknown>
  replay(done: number): Promise<Done & { readonly rows: number }>
}

const measureSide = async (
  bench: Bench,
  place: Place,
  name: string,
  importing: Subject,
  { mark, replay }: Pick<Side, 'mark' | 'replay'>,
): Promise<void> => {
  const nextFile = createFiles(place, createDice(5))
  bench.say(`importing into ${name}`)
  await importing.ask('run', nextFile())
  let [last, rows] = [0, 0]
  const ours = async (): Promise<Round> => {
    const path = nextFile()
    await mark()
    const done = await importing.ask<Done>('run', path)
    last = done.done
    return toRound(done)
  }
  const raw = async (): Promise<Round> => {
    const done = await replay(last)
    rows = done.rows / last
    return toRound(done)
  }
  const comparison = await compare(bench.rounds, ours, raw)
  if (bench.profileFolder !== undefined) {
    const path = nextFile()
    await importing.profile(`${bench.profileFolder}/import-${name}.cpuprofile`, () => importing.ask('run', path))
  }
  const { speed } = comparison
  bench.report({
    figure: `import into ${name} / raw inserts, batches of ${BATCH}`,
    required: `≥ ${percent(REQUIRED)}`,
    measured: percent(speed.median),
    spread: `${percent(speed.least)} … ${percent(speed.most)}`,
    ok: speed.median >= REQUIRED,
    beside: `${both(comparison)}; ${rows.toFixed(1)} rows each`,
  })
}

const CONFORMANCE = { reference_policy: 'fhir' }

const onSqlite = async (bench: Bench): Promise<void> => {
  const place = createPlace()
  const importing = startSubject('importing', { cores: bench.cores, unbound: true })
  const raw = startSubject('raw', { cores: bench.cores, unbound: true })
  try {
    await importing.ask('start', {
      database: { kind: 'sqlite', sqlite_path: place.sqlitePath },
      conformance: CONFORMANCE,
    })
    await raw.ask('start', { sourcePath: place.sqlitePath, targetPath: place.path('raw.sqlite') })
    await measureSide(bench, place, 'SQLite', importing, {
      mark: () => raw.ask('mark'),
      replay: () => raw.ask('replay', { batch: BATCH }),
    })
  } finally {
    await raw.stop()
    await importing.stop()
    place.remove()
  }
}

const onPostgres = async (bench: Bench): Promise<void> => {
  const place = createPlace()
  const server = await startPostgres({ settings: { fsync: 'on', synchronous_commit: 'on' } })
  const settings = {
    database: { kind: 'postgres', postgres_url: server.url(undefined, 'imported') },
    conformance: CONFORMANCE,
  }
  try {
    await server.createDatabase('imported')
    const first = startSubject('importing', { cores: bench.cores, unbound: true })
    await first.ask('start', settings)
    await first.stop()
    await server.createDatabase('raw', 'imported')
    const importing = startSubject('importing', { cores: bench.cores, unbound: true })
    try {
      await importing.ask('start', settings)
      const replay = await createPostgresReplay(server.url(undefined, 'imported'), server.url(undefined, 'raw'))
      await measureSide(bench, place, 'PostgreSQL', importing, {
        mark: replay.mark,
        replay: async (done) => ({ done, ...(await replay.replay(done, BATCH)) }),
      })
      await replay.stop()
    } finally {
      await importing.stop()
    }
  } finally {
    await server.stop()
    place.remove()
  }
}

export const importing: Figure = {
  name: 'import',
  description: `server import, against raw inserts of the same rows in batches of ${BATCH}, on SQLite and PostgreSQL`,
  async run(bench) {
    await onSqlite(bench)
    await onPostgres(bench)
  },
}
