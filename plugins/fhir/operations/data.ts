/** What an operation may look at: the resources that its caller may see. */

import type { RequestContext, Ruling } from '../../../kernel/index.ts'
import { isId, typeOf } from '../../model/service.ts'
import { findMatches } from '../../search/service.ts'
import type { StoredVersion } from '../../storage/service.ts'
import { Deleted, NotFound } from '../../storage/service.ts'
import type { FhirServer } from '../parts.ts'
import { readPairs } from '../presentation/presentation-parameters.ts'
import type { Data, Held } from './held-data.ts'

const toHeld = (version: StoredVersion): Held => ({
  type: version.type,
  id: version.id,
  version: version.version,
  lastUpdated: version.lastUpdated,
  get json() {
    return version.text
  },
  parse: () => JSON.parse(version.text) as Record<string, unknown>,
})

/** The current version that a ruling lets be seen. Throws 404 and 410. */
export const readSeen = async (
  { store, evaluator }: FhirServer,
  request: RequestContext,
  ruling: Ruling,
  type: string,
  id: string,
): Promise<StoredVersion> => {
  const version = isId(id) ? await store.read(type, id) : undefined
  const isSeen =
    version !== undefined &&
    (ruling.restrictions.length === 0 || (await evaluator.allows(request, ruling, 'r', version)))
  if (!isSeen) throw NotFound(type, id.slice(0, 64))
  if (version.deleted) throw Deleted(type, id)
  return version
}

/** `shown` is told what was given out: whose data that is goes to the trail. */
export const createData = (
  server: FhirServer,
  request: RequestContext,
  ruling: Ruling,
  shown: (versions: readonly StoredVersion[]) => void,
): Data => ({
  async read(type, id) {
    const version = await readSeen(server, request, ruling, typeOf(server, type).name, id)
    shown([version])
    return toHeld(version)
  },
  async search(type, query, most) {
    const match = await findMatches(server, request, ruling, typeOf(server, type).name, readPairs(query))
    const found = await match.find(server, most)
    shown(found)
    return found.map(toHeld)
  },
})
