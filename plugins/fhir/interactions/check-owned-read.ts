/**
 * Refuses reads of a type that is not stored as resources, because they would find nothing: searches, also by `_type`,
 * `_revinclude` and `_has`, compartments, histories, operations of an instance, and entries of a Bundle.
 */
import { readPairs } from '../presentation/presentation-parameters.ts'
import type { InteractionName } from './addresses.ts'
import type { ServerOwnedTypes } from './owned-types.ts'
import { queryIn } from './query-of.ts'
import type { InteractionRequest } from './request.ts'

const namesType = (type: string, [name, value]: readonly [string, string]): boolean =>
  name === '_type'
    ? value.split(',').includes(type)
    : name.startsWith('_revinclude')
      ? value.startsWith(`${type}:`)
      : name.includes(`_has:${type}:`)

/** Throws 400 for a search of such a type, or with a chain through it. `asked`: undefined for all types. */
export const checkOwnedSearch = (
  owned: Pick<ServerOwnedTypes, 'readElsewhere' | 'checkRead'>,
  asked: string | undefined,
  query: string,
): void => {
  if (asked !== undefined) owned.checkRead(asked)
  for (const one of owned.readElsewhere)
    if (query.includes(one) && readPairs(query).some((pair) => namesType(one, pair))) owned.checkRead(one)
}

/** Throws 400, which names the address where the type is read. */
export const checkOwnedRead = (
  owned: Pick<ServerOwnedTypes, 'readElsewhere' | 'checkRead'>,
  name: InteractionName,
  request: InteractionRequest,
): void => {
  if (owned.readElsewhere.size === 0) return
  const { params, entry } = request
  const { type, id, other } = params
  if (name === 'search') {
    checkOwnedSearch(owned, other ?? type, queryIn(request))
    return
  }
  const isRead =
    name === 'history' ||
    name === 'vread' ||
    (name === 'read' && entry !== undefined) ||
    (name === 'operation' && id !== undefined)
  if (isRead && type !== undefined) owned.checkRead(type)
}
