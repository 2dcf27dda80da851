/** Reads many versions by few statements, in groups of which only one need be in memory at a time. */
import type { Sql } from '../database/service.ts'
import type { RowSource } from './row-source.ts'
import { readSeveralCurrent, readSeveralSuperseded, type SeveralRow } from './tables.ts'
import type { TypeCodes } from './type-codes.ts'
import { StoredVersion } from './version.ts'

/** Versions that one statement reads at most. */
const SEVERAL = 200

export interface ResourceAddress {
  readonly type: string
  readonly id: string
}

export type VersionGroups = AsyncGenerator<readonly StoredVersion[]>

export interface ReadsSeveral {
  /** The current versions of these resources, deletions too. Leaves out resources that never existed. */
  readSeveral(resources: readonly ResourceAddress[]): VersionGroups
  /** The versions that these ones superseded. Leaves out those that there are not. */
  readSuperseded(by: readonly StoredVersion[]): VersionGroups
}

export const createReadsSeveral = (source: Pick<RowSource, 'all'>, codes: TypeCodes): ReadsSeveral => {
  async function* inGroups(statement: Sql, pairs: readonly (readonly [number, number | string])[]): VersionGroups {
    let at = 0
    while (at < pairs.length) {
      const rows = await source.all<SeveralRow>(statement, [JSON.stringify(pairs.slice(at, at + SEVERAL))])
      const beyond = rows.find(({ fits }) => fits === 0)
      const read = beyond === undefined ? rows : rows.filter(({ fits }) => fits === 1)
      yield read.map((row) => new StoredVersion(codes.name(row.type), row))
      at += beyond === undefined ? SEVERAL : beyond.at
    }
  }
  return {
    readSeveral: (resources) =>
      inGroups(
        readSeveralCurrent,
        resources.flatMap(({ type, id }) => {
          const code = codes.code(type)
          return code === undefined ? [] : [[code, id] as const]
        }),
      ),
    readSuperseded: (by) =>
      inGroups(
        readSeveralSuperseded,
        by.map(({ rid, version }) => [rid, version - 1] as const),
      ),
  }
}
