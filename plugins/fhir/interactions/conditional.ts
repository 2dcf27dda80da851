/**
 * Conditional interactions: a search finds the resource. The search runs before the transaction, and again inside it;
 * when the results differ, the interaction is retried. https://hl7.org/fhir/R4/http.html#cond-update
 *
 * Why two of them cannot both create a match for one criterion: an interaction whose search found nothing takes a lock
 * on the type before it searches inside its transaction (on SQLite there is one writer at a time), and holds it until
 * COMMIT. So the second one searches after the first one has committed. An interaction whose search found something
 * creates nothing: it shares the lock with its like, and locks what it has found.
 *
 * The second search must use nothing that was read from the database before the lock. So its conditions are built
 * again: the systems of a code, the kinds of references in use, restrictions of the ruling. The codes of a value set
 * are the exception, because the terminology cannot be queried inside a transaction: they are reused, and the
 * interaction is retried when a value set or code system has changed since. The lock does not depend on the criterion,
 * so criteria that are written differently exclude each other, too. Plain creates and updates do not take it: a plain
 * create may make a second match.
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
import { conditionLock } from './lock-targets.ts'
import { type InteractionRequest, interactionOf } from './request.ts'

const MAX_CONFIRMED = 1_000 // matches that are looked through after the changes; nearly always there is one
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

/** Turns the query of a conditional interaction into a search of what the ruling lets the caller see. */
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
   * Inside the transaction, before any change: throws Contended when the search has another result by now. Also locks
   * the resource with the id `own`, so that it cannot begin to match, and returns its current version.
   */
  verify(view: View, transaction: Transaction, own?: string): Promise<StoredVersion | undefined>
  /**
   * Inside the transaction, after all its changes: throws 412 when several of its own resources match by now. `own`:
   * `Type/id` of each. What others have made meanwhile without a condition counts for the next conditional interaction.
   */
  confirm(view: View, own: ReadonlySet<string>): Promise<void>
}

export interface LocatedMatches {
  /** Newest first. */
  readonly found: readonly StoredVersion[]
  verify: LocatedMatch['verify']
  confirm: LocatedMatch['confirm']
}

/** The resources of the type that match, `most + 1` at most: one too many shows that there are more than `most`. */
export const locateMatches = async (
  view: View,
  request: InteractionRequest,
  type: string,
  query: string,
  most: number,
): Promise<LocatedMatches> => {
  const { ctx } = request
  // A copy: a conditional deletion adds its own matches to `request.gone`, and must find them again in the transaction.
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
      // Shared by those that found something: they create nothing, and may make something match for those that did not.
      await here.reads.advisoryLock(transaction, conditionLock(type), found.length > 0)
      // Locked before the second search, so that its result holds until COMMIT. In the order of ids, so that
      // transactions cannot deadlock.
      for (const id of found.map((version) => version.id).sort()) await here.reads.lock(transaction, type, id)
      const held = own === undefined ? undefined : await here.reads.lock(transaction, type, own)
      const now = await find(here)
      if (now.length !== found.length || now.some(({ rid }, at) => rid !== found[at]?.rid)) throw Contended()
      return held
    },
    async confirm(here, own) {
      const now = await match.find(here.search, MAX_CONFIRMED)
      if (now.filter((version) => own.has(`${version.type}/${version.id}`)).length > 1) throw ManyMatches(type)
    },
  }
}

/** Throws 412 when the request has If-Match but no resource matches its criteria. */
export const checkAnyMatch = (
  type: string,
  found: StoredVersion | undefined,
  precondition: Precondition | undefined,
): void => {
  if (found === undefined && precondition?.ifMatch !== undefined) throw NoneForIfMatch(type)
}

/**
 * The one resource of the type that matches; `found` is undefined when there is none. Throws 412 when there are
 * several.
 */
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
