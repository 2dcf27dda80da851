/**
 * What the lock of a SQLite file takes of creates: its check is made once for each COMMIT, on the main thread, so creates
 * without it would take so much less time.
 */
import { createKernel } from '../../../kernel/index.ts'
import { Database } from '../../../plugins/database/service.ts'
import { countStart } from '../../../plugins/database/sqlite/count-start.ts'
import { lockFile } from '../../../plugins/database/sqlite/file-lock.ts'
import { watchLock } from '../../../plugins/database/sqlite/lock-watch.ts'
import { openWriter } from '../../../plugins/database/sqlite/open.ts'
import type { Bench, Figure } from '../bench.ts'
import { median, spreadOf } from '../compare.ts'
import { makePatient } from '../corpus/clinical.ts'
import { createDice } from '../corpus/random.ts'
import { createPlace } from '../house.ts'
import { housePlugins, settingsFor } from '../plugins.ts'
import { rate } from '../table.ts'

const CHECKS = 20_000 // of a round
const WARM = 2_000 // creates before they are measured
const LEAST = 0.99
const CACHE_KIB = 16_384

const share = (ratio: number): string => `${(ratio * 100).toFixed(2)} %`

/** Measures the check inside a transaction of the file, as a server makes it. */
const openChecks = (path: string) => {
  const handle = openWriter(path, true, CACHE_KIB)
  const unreachable = (): never => {
    throw new Error('the lock was lost')
  }
  const watch = watchLock({
    lock: lockFile(path, new Date(), 'bench'),
    lockAgain: unreachable,
    isLatest: countStart(handle),
    files: { fault: unreachable },
    onTaken: unreachable,
    log: { error: unreachable, warn: unreachable } as never,
  })
  return {
    /** Seconds of one check. */
    measure(): number {
      handle.exec('BEGIN IMMEDIATE')
      const from = performance.now()
      for (let n = 0; n < CHECKS; n += 1) watch.hold()
      const seconds = (performance.now() - from) / 1000 / CHECKS
      handle.exec('ROLLBACK')
      return seconds
    },
    close() {
      handle.close()
      watch.release()
    },
  }
}

export const lock: Figure = {
  name: 'lock',
  description: 'what the check of the lock file takes of creates on SQLite',
  async run(bench: Bench) {
    const [place, other] = [createPlace(), createPlace()]
    const database = { kind: 'sqlite', sqlite_path: place.sqlitePath }
    const settings = settingsFor(housePlugins, { database })
    const kernel = await createKernel({ plugins: housePlugins, settings, log: { level: 'silent' } })
    await kernel.start()
    const checks = openChecks(other.sqlitePath)
    try {
      const dice = createDice(5)
      const headers = { 'content-type': 'application/fhir+json' }
      const create = async (): Promise<void> => {
        const { statusCode, body } = await kernel.inject({
          ...{ method: 'POST', url: '/Patient', headers },
          payload: makePatient(dice),
        })
        if (statusCode !== 201) throw new Error(body)
      }
      /** Creates in a second, and those of a COMMIT. */
      const createFor = async (connections: number, goesOn: (made: number, ms: number) => boolean) => {
        const from = performance.now()
        const before = kernel.get(Database).status().commits.groups
        let made = 0
        const connection = async (): Promise<void> => {
          while (goesOn(made, performance.now() - from)) {
            made += 1
            await create()
          }
        }
        await Promise.all(Array.from({ length: connections }, connection))
        const seconds = (performance.now() - from) / 1000
        return { perSecond: made / seconds, each: made / (kernel.get(Database).status().commits.groups - before) }
      }
      await createFor(8, (made) => made < WARM)
      checks.measure()
      for (const connections of [8, 1]) {
        bench.say(`creating over ${connections} connection${connections === 1 ? '' : 's'}`)
        const rounds: { perSecond: number; each: number; check: number; kept: number }[] = []
        for (let n = 0; n < bench.rounds; n += 1) {
          const { perSecond, each } = await createFor(connections, (_, ms) => ms < bench.seconds * 1000)
          const check = checks.measure()
          rounds.push({ perSecond, each, check, kept: 1 - (check / each) * perSecond })
        }
        const { median: kept, least, most } = spreadOf(rounds.map((round) => round.kept))
        bench.report({
          figure: `SQLite create, with the checks of the lock / without, ${connections} at once`,
          required: `≥ ${share(LEAST)}`,
          measured: share(kept),
          spread: `${share(least)} … ${share(most)}`,
          ok: kept >= LEAST,
          beside: [
            rate(median(rounds.map((round) => round.perSecond))),
            `${median(rounds.map((round) => round.each)).toFixed(1)} creates for each COMMIT`,
            `a check takes ${(median(rounds.map((round) => round.check)) * 1e6).toFixed(1)} µs`,
          ].join('; '),
        })
      }
    } finally {
      checks.close()
      await kernel.stop()
      place.remove()
      other.remove()
    }
  },
}
