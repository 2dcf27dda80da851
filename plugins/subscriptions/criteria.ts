/**
 * Finds the Subscriptions whose criteria a version matches, within what their owners might see. Criteria that a single resource
 * decides are filed by keys, so a version is tested against few of them; the others are searched for.
 */
import { isServerError } from '../../kernel/index.ts'
import type { Matcher, MatchSubject, Session, SessionReads } from '../fhir/service.ts'
import { createFiledMatchers } from '../search/service.ts'
import type { OwnerSession } from './owner-session.ts'
import type { ChangeRow, StateRow } from './tables.ts'

interface Compiled {
  of: StateRow
  readonly query: string
  readonly session: Session
  /** Null where only a search can decide. */
  readonly matcher: Matcher | null
}
type Decided = Compiled & { readonly matcher: Matcher }

/** Criteria that cannot be used any more: 4xx, or a restriction that is malformed by now. */
export type Unusable = (of: StateRow, error: unknown) => Promise<void>

export interface Criteria {
  /**
   * Compiles the criteria of these Subscriptions and forgets those of all others. To be called again where `areCurrent` is
   * false.
   */
  prepare(active: readonly StateRow[]): Promise<void>
  /** False when search parameters or value sets have changed since. */
  readonly areCurrent: boolean
  /** Those Subscriptions that began before the change and match it. */
  matching(change: ChangeRow): Promise<readonly StateRow[]>
}

export interface CriteriaParts {
  readonly server: Pick<SessionReads, 'read' | 'subject'>
  readonly ownerSession: OwnerSession
  /** Called for criteria that throw. What it throws itself is thrown on. */
  readonly unusable: Unusable
}

/** Reads the criteria of the active version, which is a later one than that of the request. */
const queryOf = async (server: CriteriaParts['server'], { id, version }: StateRow): Promise<string> => {
  const { criteria } = (await server.read('Subscription', id, version)).parse()
  const text = String(criteria)
  const mark = text.indexOf('?')
  return mark === -1 ? '' : text.slice(mark + 1)
}

/** True where the version is the current one and matches. An older one is skipped, because a later change is compared too. */
const isFound = async ({ session, query }: Compiled, { type, id, version }: ChangeRow): Promise<boolean> => {
  const { matches } = await session.search(type, `${query}${query === '' ? '' : '&'}_id=${id}`)
  return matches.some((one) => one.version === version)
}

const isDecided = (one: Compiled): one is Decided => one.matcher !== null

export const createCriteria = ({ server, ownerSession, unusable }: CriteriaParts): Criteria => {
  const compiled = new Map<string, Compiled>()
  const filed = createFiledMatchers<Decided>()

  const drop = (one: Compiled): void => {
    compiled.delete(one.of.id)
    if (isDecided(one)) filed.remove(one)
  }
  const compile = async (of: StateRow, known: Compiled | undefined): Promise<void> => {
    const query = known?.query ?? (await queryOf(server, of))
    const session = ownerSession(of)
    const made = { of, query, session, matcher: await session.matches(of.type, query) }
    compiled.set(of.id, made)
    if (isDecided(made)) filed.add(made)
  }
  const prepareOne = async (of: StateRow): Promise<void> => {
    const there = compiled.get(of.id)
    const known = there?.of.version === of.version ? there : undefined
    if (known !== undefined && known.matcher?.meaning.isCurrent !== false) {
      known.of = of
      return
    }
    if (there !== undefined) drop(there)
    try {
      await compile(of, known)
    } catch (error) {
      await unusable(of, error)
    }
  }
  const subjectOf = async ({ type, id, version }: ChangeRow): Promise<MatchSubject | undefined> => {
    if (!filed.has(type)) return undefined
    try {
      const one = await server.read(type, id, version)
      return server.subject(one, one.parse())
    } catch (error) {
      // The version does not exist any more.
      if (isServerError(error) && error.status < 500) return undefined
      throw error
    }
  }
  return {
    async prepare(active) {
      const ids = new Set(active.map(({ id }) => id))
      for (const one of [...compiled.values()]) if (!ids.has(one.of.id)) drop(one)
      for (const of of active) await prepareOne(of)
    },
    get areCurrent() {
      for (const { matcher } of compiled.values()) if (matcher?.meaning.isCurrent === false) return false
      return true
    },
    async matching(change) {
      const subject = await subjectOf(change)
      const found: StateRow[] = []
      if (subject !== undefined)
        for (const { of, matcher } of filed.find(change.type, undefined, subject.keys))
          if (of.since < change.seq && matcher.test(subject)) found.push(of)
      for (const one of compiled.values()) {
        if (one.matcher !== null || one.of.type !== change.type || one.of.since >= change.seq) continue
        try {
          if (await isFound(one, change)) found.push(one.of)
        } catch (error) {
          await unusable(one.of, error)
        }
      }
      return found
    },
  }
}
