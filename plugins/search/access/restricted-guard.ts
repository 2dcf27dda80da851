/** The guard for changes by a caller with limited access. */
import type { Caller, Restriction, Right, Ruling } from '../../../kernel/index.ts'
import { chain, type MaybePromise } from '../../database/service.ts'
import {
  type ChangeRights,
  Contended,
  NotFound,
  type Reads,
  type StoredVersion,
  type WriteGuard,
} from '../../storage/service.ts'
import { OutsideAccess, RestrictionUnsupported } from '../errors.ts'
import type { IndexEntries } from '../index/index-entries.ts'
import { type FoundRows, indexFindingsOf, rowsOfBefore, rowsOfNext, toIndexFindings } from '../index/index-findings.ts'
import type { Registry } from '../index/registry.ts'
import type { ClauseSubject } from '../query/clause.ts'
import { type CompiledGrants, type CompileRight, compileGrants } from './compiled-grants.ts'
import { extent } from './extent.ts'
import { grantResult } from './grant-result.ts'
import type { SecurityContexts } from './security-context.ts'

export interface GuardParts {
  readonly ruling: Ruling
  readonly type: string
  readonly rights: ChangeRights
  readonly compile: CompileRight
  readonly subjectOf: (version: StoredVersion) => ClauseSubject
  /** Passes on rows of a version that were extracted elsewhere, for `subjectOf`. */
  readonly give: (version: StoredVersion, found: FoundRows) => void
  readonly registry: Pick<Registry, 'extract' | 'hasSameRows'>
  readonly now: () => number
  /** Resource types of the installed packages. */
  readonly types: ReadonlySet<string>
  readonly contextsOf: (version: StoredVersion) => SecurityContexts
  readonly caller: Caller
}

type Json = Readonly<Record<string, unknown>>
type Holds = (compiled: CompiledGrants) => boolean

const namesResource = ({ types, others }: Restriction, type: string, id: string): boolean =>
  [others, ...Object.values(types)].some((grants) =>
    grants.some(({ compartment }) => compartment?.type === type && compartment.id === id),
  )

/** Waits for all of them. Returns a promise only where one of them is a promise. */
const all = (made: readonly MaybePromise<void>[]): MaybePromise<void> =>
  made.some((one) => one instanceof Promise) ? Promise.all(made).then(() => undefined) : undefined

/** Makes the guard. Returns a promise only where restrictions have to be compiled first. */
export const createWriteGuard = (parts: GuardParts): MaybePromise<WriteGuard> => {
  const { ruling, type, rights, compile, subjectOf, give, registry, now, types, contextsOf, caller } = parts
  const compiled = new Map<string, readonly CompiledGrants[]>()
  const prepareRights = (of: string, wanted: readonly Right[]): MaybePromise<void> => {
    const missing = wanted.filter((right) => !compiled.has(right + of))
    // A reference may name a type that no package defines: such a type has no resources, and the right applies to
    // none.
    const make = types.has(of) ? compile : (): readonly CompiledGrants[] => [compileGrants(undefined)]
    return all(missing.map((right) => chain(make(of, right), (one): void => void compiled.set(right + of, one))))
  }
  const compiledFor = (of: string, right: Right): readonly CompiledGrants[] => {
    const found = compiled.get(right + of)
    // Compiling would read outside the transaction. Contended makes the change start again, with this type prepared.
    if (found === undefined) throw Contended()
    return found
  }
  // The guard checks a resource before the transaction and inside it, so extracted rows are cached; those of a large
  // one come from a worker thread.
  const extracted = new WeakMap<Json, IndexEntries>()
  const rowsOf = (resource: Json): IndexEntries => {
    const known = extracted.get(resource)
    if (known !== undefined) return known
    const findings = indexFindingsOf(resource)
    const found = findings && rowsOfNext(findings)
    const isCurrent = found !== undefined && registry.hasSameRows(found.source, [String(resource.resourceType)])
    const rows = isCurrent ? found.rows : registry.extract(resource as Record<string, unknown>)
    extracted.set(resource, rows)
    return rows
  }
  /** False also where the index would have to be searched, because nothing is searched inside a transaction. */
  const holds = (right: Right, version: StoredVersion): boolean =>
    grantResult(compiledFor(version.type, right), version, subjectOf) === true
  const showsItself = (version: StoredVersion): boolean => holds('r', version) || holds('s', version)
  /** Returns whether the caller may read the security contexts, beginning with the one at `from`. */
  const showsContexts = (contexts: SecurityContexts, reads: Pick<Reads, 'read'>, from = 0): MaybePromise<boolean> => {
    if (from === contexts.length) return true
    const context = contexts[from]
    if (context === undefined || !types.has(context.type)) return false
    return chain(reads.read(context.type, context.id), (found) => {
      if (found === undefined || found.deleted || !holds('r', found)) return false
      return showsContexts(contexts, reads, from + 1)
    })
  }
  /** The error 403, with the headers of the restrictions that refuse the change. */
  const outside = (right: Right, isMet: Holds): Error => {
    const failed = compiledFor(type, right).map((one) => !isMet(one))
    const headers = ruling.headersWhere((restriction) => failed[ruling.restrictions.indexOf(restriction)] === true)
    return OutsideAccess(type).with({ headers })
  }
  /**
   * True when only the index could decide. A change that the testable grants do not allow is then refused as
   * undecided.
   */
  const isUntestable = (of: readonly Right[]): boolean =>
    of.some((right) => compiledFor(type, right).some(({ test }) => test === undefined))
  const isAll = (right: Right): boolean => extent(ruling, type, right) === 'all'
  /** A caller learns that a resource does not exist only if access to an existing one would be unlimited. */
  const mayRevealAbsence = isAll('r') || isAll('s') || rights.every(isAll)

  const guard: WriteGuard = {
    restricts: true,
    target(id, current, reads, findings) {
      if (current !== undefined && findings !== undefined && findings.before?.version === current.version) {
        const found = rowsOfBefore(toIndexFindings(findings))
        if (found !== undefined) give(current, found)
      }
      if (mayRevealAbsence && current === undefined) return undefined
      // The same error for a hidden resource, a deleted one and none at all, so that it reveals nothing.
      const unseen = (): Error =>
        (isUntestable(rights) ? RestrictionUnsupported() : NotFound(type, id)).with({ hidden: current !== undefined })
      if (current === undefined) throw unseen()
      const shown = current.deleted ? reads.vread(type, id, current.version - 1) : current
      return chain(shown, (version): MaybePromise<void> => {
        if (version === undefined || version.deleted) {
          if (mayRevealAbsence) return
          throw unseen()
        }
        const contexts = contextsOf(version)
        const decided = chain(showsContexts(contexts, reads), (isShown): MaybePromise<boolean> => {
          if (contexts.length === 0) return isShown
          // Before the transaction another one may replace the version and change its context between the two reads.
          return chain(reads.isCurrent(current), (isCurrent) => {
            if (!isCurrent) throw Contended()
            return isShown
          })
        })
        return chain(decided, (isShown): void => {
          if (!isShown) throw unseen()
          const missing = rights.find((right) => !holds(right, version))
          if (missing === undefined) return
          if (isUntestable(rights) || !showsItself(version)) throw unseen()
          throw outside(missing, ({ results }) => results.get(version) !== false)
        })
      })
    },
    content(id, resource) {
      const [right] = rights
      const subject: ClauseSubject = {
        type,
        id,
        versionTime: now() * 1000,
        rows: rowsOf(resource),
      }
      const isMet: Holds = ({ test, certain }) => (test ?? certain)?.(subject) === true
      if (compiledFor(type, right).every(isMet)) return
      throw isUntestable([right]) ? RestrictionUnsupported() : outside(right, isMet)
    },
    prepare: (types) => all([...types].map((one) => prepareRights(one, ['r', 's']))),
    reads: (version) => holds('r', version),
    sees: (version) => showsItself(version) && contextsOf(version).length === 0,
    names: (of, id) => caller.user === `${of}/${id}` || ruling.restrictions.some((one) => namesResource(one, of, id)),
  }
  // Which type the security context of a Binary has is known only inside the transaction, so all types are prepared.
  const contexts = type === 'Binary' && !ruling.covers(['r']) ? [...types].map((one) => prepareRights(one, ['r'])) : []
  return chain(all([prepareRights(type, [...rights, 'r', 's']), ...contexts]), () => guard)
}
