/** The definitions of installed packages as resources beside the stored ones. */
import { createPause } from '../../kernel/index.ts'
import type { Transaction } from '../database/service.ts'
import type { BesideResources } from '../fhir/service.ts'
import type { DefinitionName, DefinitionNames } from '../packages/service.ts'
import type { BesideName } from '../search/service.ts'
import { StoredVersion } from '../storage/service.ts'
import { definitionId, isDefinitionId } from './definition-id.ts'
import { DefinitionReadOnly } from './errors.ts'
import { toMarkedText } from './marked-text.ts'

interface Named extends BesideName {
  readonly name: DefinitionName
}

interface Listed {
  readonly fingerprint: string
  readonly list: readonly Named[]
  readonly byId: ReadonlyMap<string, Named>
}

const BATCH = 20 // definitions decompressed in one turn of the main thread

/** The package that was installed last comes first, as what was stored last does. */
const toListed = (fingerprint: string, type: string, names: readonly DefinitionName[]): Listed => {
  const list = names.toReversed().map(
    (name, at): Named => ({
      name,
      rid: -1 - at,
      id: definitionId(name.package, type, name.id),
      url: name.url,
      versionTime: name.installedAt * 1000,
    }),
  )
  return { fingerprint, list, byId: new Map(list.map((one) => [one.id, one])) }
}

export interface DefinitionResources extends BesideResources {
  /** Reads of which types there are definitions. */
  open(): Promise<void>
}

export const createDefinitionResources = (names: DefinitionNames): DefinitionResources => {
  let types: ReadonlySet<string> = new Set()
  const known = new Map<string, Listed>()

  const listed = async (type: string, transaction: Transaction | undefined): Promise<Listed> => {
    const found = known.get(type)
    if (found?.fingerprint === names.fingerprint) return found
    const read = await names.names(type, transaction)
    // Read behind the names: they may have shown that another package was installed.
    const made = toListed(names.fingerprint, type, read)
    known.set(type, made)
    return made
  }
  const versions = async (
    type: string,
    wanted: readonly BesideName[],
    transaction: Transaction | undefined,
  ): Promise<readonly StoredVersion[]> => {
    if (wanted.length === 0) return []
    const { byId } = await listed(type, transaction)
    const there = wanted.flatMap(({ id }) => byId.get(id) ?? [])
    const pause = createPause()
    const made: StoredVersion[] = []
    for (let from = 0; from < there.length; from += BATCH) {
      const some = there.slice(from, from + BATCH)
      const texts = await names.texts(
        type,
        some.map(({ name }) => name),
        transaction,
      )
      for (const [at, { rid, id, name, versionTime }] of some.entries()) {
        const json = texts[at]
        if (json === undefined) continue
        const row = { rid, type: 0, id, ver: 1, upd: versionTime, flags: 0, body: null }
        made.push(new StoredVersion(type, row, toMarkedText(json, name.package, id, versionTime)))
        await pause()
      }
    }
    return made
  }

  return {
    async open() {
      types = new Set(await names.types())
    },
    has: (type) => types.has(type),
    list: async (type, transaction) => (await listed(type, transaction)).list,
    versions,
    async read(type, id, transaction) {
      const found = (await listed(type, transaction)).byId.get(id)
      return found === undefined ? undefined : (await versions(type, [found], transaction))[0]
    },
    isReserved: (type, id) => isDefinitionId(id) && types.has(type),
    refuse: (type, id) => DefinitionReadOnly(type, id),
  }
}
