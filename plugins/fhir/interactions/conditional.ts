/**
 * Conditional interactions: the resource is the one that a search finds. The search runs before the transaction, and again
 * inside it; when the results differ, the interaction begins again. https://hl7.org/fhir/R4/http.html#cond-update
 *
 * Why two of them cannot both create what one criterion matches: each that has found nothing takes a lock on the type before it
 * searches inside its transaction (on SQLite there is one writer at a time), and keeps it until COMMIT. So the second one searches
 * after the first one has committed. Who has found something creates nothing, and locks what it has found instead. That search must not use anything that was read from the database before the lock, so its conditions are
 * built anew behind it: the systems of a code, the kinds of references in use, restrictions of the access ruling. The
 * codes of a value set are the exception, because the terminology cannot be asked inside a transaction: they are kept from
 * before, and the interaction begins again when a value set or code system has changed since. The lock does not depend on
 * the criterion, so criteria that are written differently exclude each other, too. It is not taken by plain creates and
 * updates: a plain create may make a second match.
 */
import type { Interaction, RequestContext, Ruling } from '../../../kernel/index.ts'
import type { Transaction } from '../../database/service.ts'
import type { ConditionalSearch } from '../../search/service.ts'
import { ConditionalCriteria, ConditionalParameter, readSearch } from '../../search/service.ts'
import type { Precondition, StoredVersion } from '../../storage/service.ts'
import { Contended } from '../../storage/service.ts'
import { authorize } from '../dispatch.ts'
import { ManyMatches, NoneForIfMatch } from '../errors.ts'
import { readPairs } from '../presentation/presentation-parameters.ts'
import type { View } from '../view.ts'
import { type InteractionRequest, interactionOf } from './request.ts'

const PRESENTATION = new Set(['_format', '_pretty', '_summary', '_elements'])

/** The criteria of a query. Throws 412 when there are none. */
const readCriteria = (query: string): readonly (readonly [string, string])[] => {
  const given = readPairs(query).filter(([name]) => !PRESENTATION.has(name))
  const { criteria } = readSearch(given, false)
  const [steering] = given.filter(
    (one) => !criteria.includes(one as never) && !criteria.some(([name]) => name === one[0]),
  )
  if (steering !== undefined) throw ConditionalParameter(steering[0].slice(0, 64))
  if (criteria.length === 0) throw ConditionalCriteria()
  return criteria
}

/** What the query of a conditional interaction stands for, within what the ruling lets be seen. */
export const matching = async (
  view: Pick<View, 'search'>,
  context: RequestContext,
  ruling: Ruling,
  type: string,
  query: string,
): Promise<ConditionalSearch> => view.search.matches(context, ruling, type, readCriteria(query))

export interface LocatedMatch {
  /** The one resource that matches. */
  readonly found: StoredVersion | undefined
  /**
   * Inside the transaction, before it changes anything: throws Contended when that is no longer so. `own`: an id that is held
   * besides, so that what is there under it does not begin to match; gives its current version.
   */
  verify(view: View, transaction: Transaction, own?: string): Promise<StoredVersion | undefined>
  /** Inside it, once all its changes are made: throws 412 when several match by now. */
  confirm(view: View): Promise<void>
}

export interface LocatedMatches {
  /** Newest first. */
  readonly found: readonly StoredVersion[]
  verify: LocatedMatch['verify']
  confirm: LocatedMatch['confirm']
}

/** The resources of a type that match; of more than `most`, `most` and one. */
export const locateMatches = async (
  view: View,
  request: InteractionRequest,
  type: string,
  query: string,
  most: number,
): Promise<LocatedMatches> => {
  const { ctx } = request
  // As it is now: a conditional deletion finds again, inside the transaction, what it adds there itself.
  const gone = new Set(request.gone)
  const searching: Interaction = interactionOf(request, { kind: 'search-type', type })
  const ruling = await authorize(view.run, ctx, searching)
  const match = await matching(view, ctx, ruling, type, query)
  const isLeft = (version: StoredVersion): boolean => !gone.has(`${version.type}/${version.id}`)
  const find = async (here: View): Promise<readonly StoredVersion[]> =>
    (await match.find(here.search, most + 1 + gone.size)).filter(isLeft).slice(0, most + 1)
  const found = await find(view)
  return {
    found,
    async verify(here, transaction, own) {
      if (found.length === 0) await here.reads.advisoryLock(transaction, `conditional/${type}`)
      // Held first: what matches when it is asked again stays so until COMMIT. In one order everywhere.
      for (const id of found.map((version) => version.id).sort()) await here.reads.lock(transaction, type, id)
      const held = own === undefined ? undefined : await here.reads.lock(transaction, type, own)
      const now = await find(here)
      if (now.length !== found.length || now.some(({ rid }, at) => rid !== found[at]?.rid)) throw Contended()
      return held
    },
    async confirm(here) {
      if ((await match.find(here.search, 2)).length > 1) throw ManyMatches(type)
    },
  }
}

/** Where nothing matches, If-Match fails, whatever the change. Throws 412. */
export const checkAnyMatch = (
  type: string,
  found: StoredVersion | undefined,
  precondition: Precondition | undefined,
): void => {
  if (found === undefined && precondition?.ifMatch !== undefined) throw NoneForIfMatch(type)
}

/** The one resource of a type that matches, or none. Throws 412 when there are several. */
export const locateMatch = async (
  view: View,
  request: InteractionRequest,
  type: string,
  query: string,
): Promise<LocatedMatch> => {
  const { found, ...others } = await locateMatches(view, request, type, query, 1)
  if (found.length > 1) throw ManyMatches(type)
  return { found: found[0], ...others }
}
