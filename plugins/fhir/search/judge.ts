/**
 * A ruling applied to single versions: reads, past versions, history, and both sides of a change. Judged by the values
 * of the version itself, not by what its resource has become since.
 */
import type { RequestContext, Ruling } from '../../../kernel/index.ts'
import type { Transaction } from '../../database/service.ts'
import { NotFound, OutsideAccess, RestrictionUnsupported } from '../errors.ts'
import type { Store } from '../store/store.ts'
import type { StoredVersion } from '../store/version.ts'
import { type Access, OPEN, toAccess } from './access.ts'
import type { Condition, Subject } from './condition.ts'
import type { Search } from './search.ts'

/** What a change has to meet; made before its transaction, asked inside it. */
export interface Permit {
  /** Throws 404 when the version before must not be seen, 403 when the new one would lie outside. */
  check(id: string, previous: StoredVersion | undefined, resource: Readonly<Record<string, unknown>> | undefined): void
}

/** Everything is allowed: there is no restriction. */
export const PERMITTED: Permit = Object.freeze({ check: () => undefined })

type Context = Pick<RequestContext, 'baseUrl' | 'signal'>

export interface Judge {
  access(request: Context, ruling: Ruling): Access
  /** May this version be seen? A deletion is as visible as what it deleted. */
  sees(request: Context, access: Access, version: StoredVersion): Promise<boolean>
  permit(request: Context, ruling: Ruling, type: string): Permit | Promise<Permit>
  /** The same inside a transaction. */
  within(transaction: Transaction): Judge
}

export interface JudgeParts {
  readonly search: Pick<Search, 'criteria' | 'registry' | 'executor' | 'within'>
  readonly store: Store
  readonly now: () => number
}

export const createJudge = ({ search, store, now }: JudgeParts): Judge => {
  const { criteria, registry, executor } = search

  const toSubject = (
    type: string,
    id: string,
    stamp: number,
    resource: Readonly<Record<string, unknown>>,
  ): Subject => ({
    type,
    id,
    stamp,
    rows: registry.extract(resource as Record<string, unknown>),
  })
  const parse = (version: StoredVersion): Subject =>
    toSubject(version.type, version.id, version.stamp, JSON.parse(version.text) as Record<string, unknown>)

  /** Conditions that need other resources hold for the present only: a past version with one is not shown. */
  const meets = async (
    request: Context,
    conditions: readonly Condition[],
    version: StoredVersion,
  ): Promise<boolean> => {
    const subject = parse(version)
    if (!conditions.every(({ test }) => test?.(subject) ?? true)) return false
    const others = conditions.filter(({ test }) => test === undefined)
    if (others.length === 0) return true
    const current = await store.read(version.type, version.id)
    if (current === undefined || current.deleted || current.version !== version.version) return false
    const type = store.types.code(version.type) ?? 0
    return (await executor.filter({ type, conditions: others }, [version.rid], request)).length > 0
  }

  const access: Judge['access'] = (request, ruling) =>
    ruling.restrictions.length === 0
      ? OPEN
      : toAccess(ruling, criteria, { baseUrl: request.baseUrl, now: now(), pin: Number.MAX_SAFE_INTEGER })

  const restrict = async (request: Context, ruling: Ruling, type: string): Promise<Permit> => {
    const conditions = await access(request, ruling).conditions(type)
    return {
      check(id, previous, resource) {
        if (conditions === undefined) throw OutsideAccess(type)
        const holds = (subject: Subject): boolean =>
          conditions.every(({ test }) => {
            // What it takes other resources to tell cannot be told inside a change.
            if (test === undefined) throw RestrictionUnsupported()
            return test(subject)
          })
        if (conditions.length === 0) return
        if (previous !== undefined && !previous.deleted && !holds(parse(previous))) throw NotFound(type, id)
        if (resource !== undefined && !holds(toSubject(type, id, now() * 1000, resource))) throw OutsideAccess(type)
      },
    }
  }

  return {
    access,
    within: (transaction) => createJudge({ search: search.within(transaction), store: store.within(transaction), now }),
    async sees(request, allowed, version) {
      if (allowed.open) return true
      const conditions = await allowed.conditions(version.type)
      if (conditions === undefined) return false
      if (conditions.length === 0) return true
      if (!version.deleted) return meets(request, conditions, version)
      const before = await store.vread(version.type, version.id, version.version - 1)
      return before !== undefined && !before.deleted && meets(request, conditions, before)
    },
    permit: (request, ruling, type) => (ruling.restrictions.length === 0 ? PERMITTED : restrict(request, ruling, type)),
  }
}
