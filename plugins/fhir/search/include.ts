/**
 * `_include` and `_revinclude`: what the matches refer to and what refers to them, found in the index, never by parsing.
 * https://hl7.org/fhir/R4/search.html#revinclude
 */
import type { TypeCodes } from '../store/type-codes.ts'
import type { StoredVersion } from '../store/version.ts'
import type { Access } from './access.ts'
import type { Criteria } from './criteria.ts'
import { SearchChain } from './errors.ts'
import type { Executor, Signalled } from './execute.ts'
import { type Fragment, isIn, q, raw } from './fragment.ts'
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
}

interface Held {
  readonly rid: number
  readonly type: string
}

export const createIncluder = ({ registry, criteria, executor, types }: IncludeParts) => {
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

  const forward = (include: Include, from: readonly Held[]): readonly Fragment[] => {
    const { source, target } = include
    const byType = Map.groupBy(from, ({ type }) => type)
    return [...byType].flatMap(([type, list]) => {
      if (source !== '*' && source !== type) return []
      const columns = columnsOf(include, type)
      const rids = isIn(
        'r.rid',
        list.map(({ rid }) => rid),
      )
      const groups = Map.groupBy(columns, ({ refers }) => refers ?? target)
      return [...groups].flatMap(([only, members]) => {
        if (target !== undefined && only !== target) return []
        const narrowed = only === undefined ? raw('1 = 1') : q`t.type = ${codeOf(only)}`
        const codes = [...new Set(members.map(({ code }) => code))]
        return codes.length === 0
          ? []
          : [
              q`SELECT DISTINCT t.rid AS rid, t.type AS type FROM ix_ref r CROSS JOIN ix_res t WHERE ${rids} AND ${isIn('r.param', codes)} AND t.ref = r.target AND ${narrowed}`,
            ]
      })
    })
  }
  const backward = (include: Include, from: readonly Held[], all: readonly string[]): readonly Fragment[] => {
    const { source, target } = include
    const byType = Map.groupBy(from, ({ type }) => type)
    const sources = source === '*' ? all : [source]
    return [...byType].flatMap(([type, list]) => {
      if (target !== undefined && target !== type) return []
      const codes = sources.flatMap((one) =>
        columnsOf(include, one)
          .filter(({ refers }) => refers === undefined || refers === type)
          .map(({ code }) => code),
      )
      if (codes.length === 0) return []
      const rids = isIn(
        'p.rid',
        list.map(({ rid }) => rid),
      )
      return [
        q`SELECT DISTINCT t.rid AS rid, t.type AS type FROM ix_res p CROSS JOIN ix_ref r CROSS JOIN resource t WHERE p.type = ${codeOf(type)} AND ${rids} AND r.target = p.ref AND ${isIn('r.param', [...new Set(codes)])} AND t.rid = r.rid LIMIT ${MOST_INCLUDED * 2}`,
      ]
    })
  }

  return {
    check,
    /** `matches` are not included again. Only what the access lets through is. */
    async include(
      request: { readonly includes: readonly Include[]; readonly revincludes: readonly Include[] },
      matches: readonly Held[],
      access: Access,
      all: readonly string[],
      asking: Signalled,
    ): Promise<Included> {
      const seen = new Set(matches.map(({ rid }) => rid))
      const found: number[] = []
      let from: readonly Held[] = matches
      let cut = false
      for (let round = 0; from.length > 0 && !cut; round += 1) {
        const active = (list: readonly Include[]): readonly Include[] =>
          list.filter(({ iterate }) => round === 0 || iterate)
        const statements = [
          ...active(request.includes).flatMap((include) => forward(include, from)),
          ...active(request.revincludes).flatMap((include) => backward(include, from, all)),
        ]
        const next = new Map<number, Held>()
        for (const statement of statements)
          for (const { rid, type } of await executor.related(statement, asking))
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
