/**
 * `_include` and `_revinclude`: what the matches refer to and what refers to them, found in the index, never by parsing.
 * https://hl7.org/fhir/R4/search.html#revinclude
 */
import type { TypeCodes } from '../store/type-codes.ts'
import type { StoredVersion } from '../store/version.ts'
import type { Access } from './access.ts'
import type { Criteria } from './criteria.ts'
import { SearchChain } from './errors.ts'
import type { Executor } from './execute.ts'
import { type Fragment, isIn, q, raw } from './fragment.ts'
import type { Ends, Links } from './link.ts'
import type { Patience } from './patience.ts'
import type { ParameterColumn, Registry } from './registry.ts'
import type { Include } from './request.ts'

/** Resources a page may hold beside its matches; a warning says when there were more. */
export const MOST_INCLUDED = 1_000
const MOST_ROUNDS = 10

export interface Included {
  readonly versions: readonly StoredVersion[]
  /** There were more than may be sent. */
  readonly cut: boolean
}

export interface IncludeParts {
  readonly registry: Registry
  readonly criteria: Criteria
  readonly executor: Executor
  readonly types: TypeCodes
  readonly links: Links
}

interface Held {
  readonly rid: number
  readonly type: string
}

export const createIncluder = ({ registry, criteria, executor, types, links: linksOf }: IncludeParts) => {
  const codeOf = (type: string): number => types.code(type) ?? 0

  /** Reference columns an include names on one type. Throws 400 for a parameter that is none. */
  const columnsOf = ({ parameter, text }: Include, type: string): readonly ParameterColumn[] => {
    if (parameter !== '*') {
      const found = criteria.parameterOf(type, parameter)
      if (found.type !== 'reference') throw SearchChain(text.slice(0, 100), `"${parameter}" is no reference`)
      return found.columns
    }
    return [...registry.parameters(type).values()]
      .filter((one) => one.type === 'reference')
      .flatMap((one) => criteria.complete(one).columns)
  }
  const check = (include: Include, known: (type: string) => boolean): void => {
    if (include.source === '*') return
    if (!known(include.source))
      throw SearchChain(include.text.slice(0, 100), `"${include.source.slice(0, 64)}" is no resource type`)
    if (include.target !== undefined && !known(include.target))
      throw SearchChain(include.text.slice(0, 100), `"${include.target.slice(0, 64)}" is no resource type`)
    columnsOf(include, include.source)
  }

  /** Ends of the types that are meant: one, or all. */
  const endsOf = (only: string | undefined, all: readonly string[]): Ends => ({
    types: only === undefined ? undefined : [codeOf(only)],
    canonicals: (only === undefined ? all : [only]).flatMap((type) => registry.canonicalColumn(type) ?? []),
  })

  const forward = async (include: Include, from: readonly Held[], all: readonly string[], baseUrl: string) => {
    const { source, target } = include
    const statements: Fragment[] = []
    for (const [type, list] of Map.groupBy(from, (held) => held.type)) {
      if (source !== '*' && source !== type) continue
      const rids = isIn(
        'r.rid',
        list.map(({ rid }) => rid),
      )
      for (const [only, columns] of Map.groupBy(columnsOf(include, type), ({ refers }) => refers ?? target)) {
        if (target !== undefined && only !== target) continue
        for (const link of await linksOf(columns, endsOf(only, all), baseUrl))
          statements.push(
            q`SELECT DISTINCT s.rid AS rid, s.type AS type FROM ix_ref r CROSS JOIN ${raw(link.table)} t CROSS JOIN resource s WHERE ${rids} AND ${link.reference('r')} AND ${link.toTarget('r', 't')} AND ${link.target('t')} AND s.rid = t.rid`,
          )
      }
    }
    return statements
  }
  const backward = async (include: Include, from: readonly Held[], all: readonly string[], baseUrl: string) => {
    const { source, target } = include
    const statements: Fragment[] = []
    for (const [type, list] of Map.groupBy(from, (held) => held.type)) {
      if (target !== undefined && target !== type) continue
      const columns = (source === '*' ? all : [source])
        .flatMap((one) => columnsOf(include, one))
        .filter(({ refers }) => refers === undefined || refers === type)
      const rids = isIn(
        't.rid',
        list.map(({ rid }) => rid),
      )
      for (const link of await linksOf(columns, endsOf(type, all), baseUrl))
        statements.push(
          q`SELECT DISTINCT s.rid AS rid, s.type AS type FROM ${raw(link.table)} t CROSS JOIN ix_ref r CROSS JOIN resource s WHERE ${link.target('t')} AND ${rids} AND ${link.reference('r')} AND ${link.toReference('r', 't')} AND s.rid = r.rid LIMIT ${MOST_INCLUDED * 2}`,
        )
    }
    return statements
  }

  return {
    check,
    /** `matches` are not included again. Only what the access lets through is. */
    async include(
      request: { readonly includes: readonly Include[]; readonly revincludes: readonly Include[] },
      matches: readonly Held[],
      access: Access,
      all: readonly string[],
      asking: Patience & { readonly baseUrl: string },
    ): Promise<Included> {
      const seen = new Set(matches.map(({ rid }) => rid))
      const found: number[] = []
      let from: readonly Held[] = matches
      let cut = false
      for (let round = 0; from.length > 0 && !cut; round += 1) {
        const active = (list: readonly Include[]): readonly Include[] =>
          list.filter(({ iterate }) => round === 0 || iterate)
        const statements: Fragment[] = []
        for (const one of active(request.includes)) statements.push(...(await forward(one, from, all, asking.baseUrl)))
        for (const one of active(request.revincludes))
          statements.push(...(await backward(one, from, all, asking.baseUrl)))
        const next = new Map<number, Held>()
        for (const statement of statements)
          for (const { rid, type } of await executor.select<{ rid: number; type: number }>(statement, asking))
            if (!seen.has(rid)) next.set(rid, { rid, type: types.name(type) })
        const allowed: Held[] = []
        for (const [type, list] of Map.groupBy(next.values(), ({ type }) => type)) {
          const conditions = await access.conditions(type)
          if (conditions === undefined) continue
          if (conditions.length === 0) allowed.push(...list)
          else {
            const kept = new Set(
              await executor.filter(
                { type: codeOf(type), conditions },
                list.map(({ rid }) => rid),
                asking,
              ),
            )
            allowed.push(...list.filter(({ rid }) => kept.has(rid)))
          }
        }
        for (const held of next.values()) seen.add(held.rid)
        const room = MOST_INCLUDED - found.length
        cut = allowed.length > room || (round === MOST_ROUNDS && allowed.length > 0)
        from = allowed.slice(0, room)
        for (const { rid } of from) found.push(rid)
      }
      return { versions: await executor.versions(found, asking), cut }
    },
  }
}

export type Includer = ReturnType<typeof createIncluder>
