/** Closures in the database: each belongs to the caller that has named it. */
import type { Clock } from '../../../kernel/index.ts'
import type { Database, Transaction } from '../../database/service.ts'
import { ClosureFull, ClosureUnknown, ClosureVersion } from '../errors.ts'
import type { Above } from './new-entries.ts'
import {
  addCodes,
  addEntries,
  type ClosureRow,
  type CodeRow,
  dropClosure,
  dropCodes,
  dropEntries,
  type EntryRow,
  listClosures,
  putClosure,
  readClosure,
  readCodes,
  readEntries,
} from './tables.ts'

/** Closures of one caller; the one that was not used longest makes room. */
const MAX_CLOSURES = 100
const MAX_CODES = 20_000
const MAX_ENTRIES = 200_000

/** Who has a closure, and its name. */
export interface ClosureKey {
  readonly client: string
  /** FHIR reference of the user. */
  readonly person: string
  readonly name: string
}

export interface ClosureState {
  readonly version: number
  /** Entries that the request asks for. */
  readonly entries: readonly EntryRow[]
}

/** The codes of a closure, and those to add, by their code system. */
export type ToEntries = (system: string, known: readonly string[], added: readonly string[]) => readonly Above[]

export interface Closures {
  /** Makes an empty closure, also where one is there. */
  begin(key: ClosureKey): Promise<ClosureState>
  /**
   * Adds codes, and gives the new entries, or with `since` all entries behind that version. Throws 404 for a closure that
   * was not begun, 400 for a version that it has not reached, and where it would grow too large.
   */
  add(
    key: ClosureKey,
    codes: readonly CodeRow[],
    toEntries: ToEntries,
    since: number | undefined,
  ): Promise<ClosureState>
}

export const createClosures = ({
  database,
  clock,
}: {
  readonly database: Pick<Database, 'transact'>
  readonly clock: Clock
}): Closures => {
  const hold = ({ client, person }: ClosureKey, transaction: Transaction) =>
    transaction.hold(`closures ${JSON.stringify([client, person])}`)
  const paramsOf = ({ client, person, name }: ClosureKey) => [client, person, name] as const

  const empty = async (transaction: Transaction, key: ClosureKey): Promise<void> => {
    for (const statement of [dropEntries, dropCodes, dropClosure]) await transaction.run(statement, paramsOf(key))
  }

  return {
    begin: (key) =>
      database.transact(async (transaction) => {
        await hold(key, transaction)
        const all = await transaction.all<ClosureRow>(listClosures, [key.client, key.person])
        const others = all.filter(({ name }) => name !== key.name)
        const dropped = others.slice(0, Math.max(0, others.length + 1 - MAX_CLOSURES))
        for (const { name } of [...dropped, key]) await empty(transaction, { ...key, name })
        await transaction.run(putClosure, [...paramsOf(key), 0, clock.now(), 0, 0])
        return { version: 0, entries: [] }
      }),
    add: (key, codes, toEntries, since) =>
      database.transact(async (transaction) => {
        await hold(key, transaction)
        const params = paramsOf(key)
        const closure = await transaction.get<ClosureRow>(readClosure, params)
        if (closure === undefined) throw ClosureUnknown(key.name)
        if (since !== undefined && since > closure.version) throw ClosureVersion(key.name, closure.version, since)

        const known = await transaction.all<CodeRow>(readCodes, params)
        const bySystem = Map.groupBy(known, ({ system }) => system)
        const isKnown = new Set(known.map(({ system, code }) => JSON.stringify([system, code])))
        const added = new Map(
          codes.map((one) => [JSON.stringify([one.system, one.code]), one] as const).filter(([id]) => !isKnown.has(id)),
        )
        const version = closure.version + (added.size > 0 ? 1 : 0)
        const entries = [...Map.groupBy(added.values(), ({ system }) => system)].flatMap(([system, more]) =>
          toEntries(
            system,
            (bySystem.get(system) ?? []).map(({ code }) => code),
            more.map(({ code }) => code),
          ).map(([below, above]) => ({ system, below, above })),
        )
        const counts = [closure.codes + added.size, closure.entries + entries.length] as const
        if (counts[0] > MAX_CODES || counts[1] > MAX_ENTRIES) throw ClosureFull(key.name, MAX_CODES, MAX_ENTRIES)
        if (added.size > 0) await transaction.run(addCodes, [...params, `[${[...added.keys()].join()}]`])
        if (entries.length > 0)
          await transaction.run(addEntries, [
            ...params,
            version,
            JSON.stringify(entries.map(({ system, below, above }) => [system, below, above])),
          ])
        await transaction.run(putClosure, [...params, version, clock.now(), ...counts])
        if (since === undefined) return { version, entries }
        return { version, entries: await transaction.all<EntryRow>(readEntries, [...params, since]) }
      }),
  }
}
