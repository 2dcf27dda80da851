/** The Definitions service over the tables. */
import { createHash } from 'node:crypto'
import { decompress } from './content.ts'
import type { Definition, DefinitionName, DefinitionNames, DefinitionRows, Definitions } from './service.ts'
import type { InstalledPackage, PackageTables, StoredDefinition } from './tables.ts'
import { compareVersions } from './version.ts'

interface Ranked {
  readonly name: string
  readonly version: string
  /** Of several definitions with one URL, the one with the highest rank is used. */
  readonly rank: number
  readonly installedAt: number
}

/**
 * Ranks packages, by their seq: in the order in which their names were first installed, and versions of one name in
 * ascending order.
 */
const rank = (packages: readonly InstalledPackage[]): ReadonlyMap<number, Ranked> => {
  const firsts = new Map<string, number>()
  for (const { name, seq } of packages) if (!firsts.has(name)) firsts.set(name, seq)
  const sorted = packages.toSorted(
    (one, other) => firsts.get(one.name)! - firsts.get(other.name)! || compareVersions(one.version, other.version),
  )
  return new Map(
    sorted.map(({ seq, name, version, installedAt }, index) => [seq, { name, version, rank: index, installedAt }]),
  )
}

const fingerprintOf = (packages: readonly InstalledPackage[]): string =>
  createHash('sha256')
    .update(JSON.stringify(packages.map(({ seq, name, version, sha }) => [seq, name, version, sha])))
    .digest('hex')
    .slice(0, 32)

/** `database`: where names and texts are read if no transaction is given. */
export const createDefinitions = (tables: PackageTables, database: DefinitionRows): Definitions & DefinitionNames => {
  let packages: readonly { readonly name: string; readonly version: string }[] = []
  let ranks: ReadonlyMap<number, Ranked> = new Map()
  let fingerprint = fingerprintOf([])

  /**
   * The definitions in ascending rank; of those with the same URL and version only the last one. Definitions without a
   * URL are compared by id.
   */
  const counted = async <T extends Pick<StoredDefinition, 'seq' | 'url' | 'version' | 'id'>>(
    rows: readonly T[],
  ): Promise<T[]> => {
    // Another process has installed a package since the last refresh.
    if (rows.some(({ seq }) => !ranks.has(seq))) await refresh()
    const rankOf = ({ seq }: T): number => ranks.get(seq)?.rank ?? -1
    const given = new Set<string>()
    return rows
      .toSorted((one, other) => rankOf(one) - rankOf(other))
      .reverse()
      .filter(({ url, version, id }) => {
        const key = url === undefined ? id : `${url}|${version ?? ''}`
        if (given.has(key)) return false
        given.add(key)
        return true
      })
      .reverse()
  }
  const toDefinition = ({ seq, type, id, url, version, body }: StoredDefinition): Definition => {
    const held = ranks.get(seq)
    return {
      package: held === undefined ? '' : `${held.name}@${held.version}`,
      type,
      id,
      ...(url === undefined ? {} : { url }),
      ...(version === undefined ? {} : { version }),
      json: decompress(body),
    }
  }
  const refresh = async (): Promise<boolean> => {
    const rows = await tables.packages()
    const next = fingerprintOf(rows)
    if (next === fingerprint) return false
    packages = rows.map(({ name, version }) => ({ name, version }))
    ranks = rank(rows)
    fingerprint = next
    return true
  }

  return {
    get packages() {
      return packages
    },
    get fingerprint() {
      return fingerprint
    },
    async all(type) {
      return (await counted(await tables.all(type))).map(toDefinition)
    },
    async find(type, url, version) {
      const rows = await counted(await tables.find(type, url))
      const found = version === undefined ? rows.at(-1) : rows.find((row) => row.version === version)
      return found === undefined ? undefined : toDefinition(found)
    },
    types: () => tables.types(),
    async names(type, from = database) {
      const rows = await counted(await tables.names(type, from))
      return rows.flatMap(({ seq, id, url, version }): DefinitionName | readonly [] => {
        const held = ranks.get(seq)
        if (held === undefined) return []
        return {
          package: `${held.name}@${held.version}`,
          id,
          ...(url === undefined ? {} : { url }),
          ...(version === undefined ? {} : { version }),
          installedAt: held.installedAt,
        }
      })
    },
    async texts(type, names, from = database) {
      const seqs = new Map([...ranks].map(([seq, { name, version }]) => [`${name}@${version}`, seq]))
      const keys = names.map((one) => [seqs.get(one.package) ?? -1, one.id] as const)
      const texts: (string | undefined)[] = names.map(() => undefined)
      for (const { at, body } of await tables.bodies(type, keys, from)) texts[at] = decompress(body)
      return texts
    },
    refresh,
  }
}
