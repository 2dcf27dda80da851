/** Reads a version if the ruling lets the caller see it. */
import type { RequestContext, Ruling } from '../../../kernel/index.ts'
import { isResourceId } from '../../model/service.ts'
import { Deleted, NotFound, type StoredVersion, VersionDeleted, VersionNotFound } from '../../storage/service.ts'
import type { View } from '../view.ts'

/**
 * The current version, or the one with this number. Throws 404 and 410. A hidden version is 404, like one that does not
 * exist.
 */
export const readVisible = async (
  { reads, access }: Pick<View, 'reads' | 'access'>,
  request: RequestContext,
  ruling: Ruling,
  type: string,
  id: string,
  number?: number,
): Promise<StoredVersion> => {
  const look = (): ReturnType<typeof reads.read> =>
    number === undefined ? reads.read(type, id) : reads.vread(type, id, number)
  const found = isResourceId(id) ? await look() : undefined
  const seen = async (held: StoredVersion): Promise<StoredVersion | undefined> => {
    if (ruling.restrictions.length === 0) return held
    if (number === undefined) return access.readable(request, ruling, held)
    return (await access.allows(request, ruling, 'r', held)) ? held : undefined
  }
  const version = found && (await seen(found))
  const named = id.slice(0, 64)
  if (version === undefined) {
    const refusal = number === undefined ? NotFound(type, named) : VersionNotFound(String(number), type, named)
    throw refusal.with({ hidden: found !== undefined })
  }
  if (version.deleted) throw number === undefined ? Deleted(type, id) : VersionDeleted(String(number), type, id)
  return version
}
