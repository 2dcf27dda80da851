/** Decides whether a version matches the criteria of a Subscription, within what its owner might see. */
import { isServerError } from '../../kernel/index.ts'
import type { Matcher, MatchSubject, Session, SessionReads } from '../fhir/service.ts'
import type { OwnerSession } from './owner-session.ts'
import type { ChangeRow, StateRow } from './tables.ts'

interface Compiled {
  readonly version: number
  readonly query: string
  readonly session: Session
  /** Null where only a search can decide. */
  readonly matcher: Matcher | null
}

/** A version that is compared with Subscriptions; read once for all of them. */
export interface ComparedVersion {
  readonly change: ChangeRow
  /** Undefined where the version does not exist any more. */
  subject(): Promise<MatchSubject | undefined>
}

export interface Criteria {
  compared(change: ChangeRow): ComparedVersion
  /** Throws 4xx and 500 where the criteria cannot be used any more. */
  matches(of: StateRow, version: ComparedVersion): Promise<boolean>
  /** Drops the compiled criteria of all Subscriptions but these. */
  keepOnly(ids: ReadonlySet<string>): void
}

export interface CriteriaParts {
  readonly server: Pick<SessionReads, 'read' | 'subject'>
  readonly ownerSession: OwnerSession
}

/** Reads the criteria of the active version, which is a later one than that of the request. */
const queryOf = async (server: CriteriaParts['server'], { id, version }: StateRow): Promise<string> => {
  const { criteria } = (await server.read('Subscription', id, version)).parse()
  const text = String(criteria)
  const mark = text.indexOf('?')
  return mark === -1 ? '' : text.slice(mark + 1)
}

export const createCriteria = ({ server, ownerSession }: CriteriaParts): Criteria => {
  const compiled = new Map<string, Compiled>()
  const compile = async (of: StateRow): Promise<Compiled> => {
    const known = compiled.get(of.id)
    if (known?.version === of.version && known.matcher?.meaning.isCurrent !== false) return known
    const query = known?.version === of.version ? known.query : await queryOf(server, of)
    const session = ownerSession(of)
    const made = { version: of.version, query, session, matcher: await session.matches(of.type, query) }
    compiled.set(of.id, made)
    return made
  }
  /** True where the version is the current one and matches. An older one is skipped, because a later change is compared too. */
  const isFound = async ({ session, query }: Compiled, { type, id, version }: ChangeRow): Promise<boolean> => {
    const { matches } = await session.search(type, `${query}${query === '' ? '' : '&'}_id=${id}`)
    return matches.some((one) => one.version === version)
  }
  return {
    compared(change) {
      const { type, id, version } = change
      let read: Promise<MatchSubject | undefined> | undefined
      const make = async (): Promise<MatchSubject | undefined> => {
        try {
          const one = await server.read(type, id, version)
          return server.subject(one, one.parse())
        } catch (error) {
          if (isServerError(error) && error.status < 500) return undefined
          throw error
        }
      }
      return {
        change,
        subject() {
          read ??= make()
          return read
        },
      }
    },
    async matches(of, version) {
      const made = await compile(of)
      if (made.matcher === null) return isFound(made, version.change)
      const subject = await version.subject()
      return subject !== undefined && made.matcher.test(subject)
    },
    keepOnly(ids) {
      for (const id of compiled.keys()) if (!ids.has(id)) compiled.delete(id)
    },
  }
}
