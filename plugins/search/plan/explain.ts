/**
 * `_explain=true`: how each clause was understood and which index it uses, the plan, and the database's own query
 * plan. Counts, plans and times depend on all resources, so only callers who may search everything get them.
 */
import { type Clock, counted, type Issue } from '../../../kernel/index.ts'
import type { RowSource } from '../../storage/service.ts'
import type { SearchClause } from '../query/clause.ts'
import type { Plan } from '../query/plan-contract.ts'
import type { SortKey } from '../query/sort-order.ts'
import type { Fragment } from '../sql/fragment.ts'
import type { StatementCache } from '../sql/statements.ts'
import type { Trace } from './deadline.ts'
import { NEAR_ROWS } from './plan.ts'
import { tablesOf } from './plan-summary.ts'
import { isLong } from './refine.ts'
import { walkFor } from './walked-page.ts'

const MAX_LINES = 60 // most lines of one statement's plan

const note = (diagnostics: string): Issue => ({ severity: 'information', code: 'informational', diagnostics })

/** Names of the index tables that a clause reads; `resource` where it reads the table of resources. */
const indexesOf = (clause: SearchClause): string => tablesOf(clause).join(', ') || 'none'

export interface ExplainedPlans {
  readonly plans: readonly Plan[]
  readonly keys: readonly SortKey[]
  readonly typeName: (code: number) => string
}

const why = (plan: Plan): string => {
  const further = isLong(plan)
    ? `; all are long, so to count or sort them, and where the newest ${NEAR_ROWS} do not fill the page, it may start from the shortest`
    : ''
  return start(plan) + further
}

/** Describes how the order is produced. Only a search of one type with many matches scans an index. */
const how = ({ isEstimate }: Plan, keys: readonly SortKey[]): string =>
  isEstimate && walkFor(keys) !== undefined
    ? `: along the index of ${keys[0]?.name}, or where that would pass over much and few match, by collecting them`
    : ': all matches are collected'

const start = ({ conditions, drivingClause, size, isEstimate, isOrdered }: Plan): string => {
  const checked = conditions.length === 1 ? '1 clause is' : `${conditions.length} clauses are`
  if (drivingClause === undefined)
    return conditions.length === 0
      ? 'goes through the resources of the type, newest first'
      : `goes through the resources of the type, newest first, and ${checked} checked by key: none of them is rare or can be started from`
  const others = conditions.length - 1
  const sized =
    conditions.length === 1 && isEstimate
      ? 'not counted'
      : `${isEstimate ? 'at least ' : ''}${counted(size, 'row')}${others > 0 ? ', the fewest of all' : ''}`
  return `starts from "${drivingClause.text}" (${sized}), ${isOrdered ? 'read newest first' : 'collected and sorted'}; ${others === 1 ? '1 other clause is' : `${others} other clauses are`} checked by key`
}

/** Describes the clauses and the plan, before the search. */
export const explainPlans = ({ plans, keys, typeName }: ExplainedPlans): readonly Issue[] =>
  plans.flatMap((plan) => {
    const type = typeName(plan.type)
    return [
      ...plan.conditions.map((one) =>
        note(
          `${type}?${one.text}: ${one.description}; index ${indexesOf(one)}${one === plan.drivingClause ? ', scanned' : ''}`,
        ),
      ),
      note(`${type}: ${why(plan)}`),
      ...(keys.length > 0
        ? [
            note(
              `sorted by ${keys.map(({ name, descending }) => (descending ? `-${name}` : name)).join(', ')}${how(plan, keys)}`,
            ),
          ]
        : []),
    ]
  })

interface Traced {
  readonly statement: Fragment
  readonly ms: number
  readonly isSlow: boolean
}

/** Records the statements of one search, and afterwards reads their query plans from the database. */
export const createQueryTrace = (
  source: RowSource,
  statements: StatementCache,
  dialect: 'sqlite' | 'postgres',
  clock: Clock,
) => {
  const traced: Traced[] = []
  const planOf = async ({ text, params }: Fragment): Promise<readonly string[]> => {
    if (dialect === 'postgres') {
      const rows = await source.all<Record<string, string>>(statements(`EXPLAIN (COSTS OFF) ${text}`), params)
      return rows.map((row) => Object.values(row)[0] as string)
    }
    const rows = await source.all<{ id: number; parent: number; detail: string }>(
      statements(`EXPLAIN QUERY PLAN ${text}`),
      params,
    )
    const depthOf = new Map<number, number>()
    return rows.map(({ id, parent, detail }) => {
      const depth = (depthOf.get(parent) ?? -1) + 1
      depthOf.set(id, depth)
      return `${'  '.repeat(depth)}${detail}`
    })
  }
  const started = clock.monotonic()
  const trace: Trace = {
    now: () => clock.monotonic(),
    note: (statement, ms, isSlow) => void traced.push({ statement, ms, isSlow }),
  }
  return {
    trace,
    async report(): Promise<readonly Issue[]> {
      const issues: Issue[] = [note(`the search took ${(clock.monotonic() - started).toFixed(2)} ms`)]
      for (const { statement, ms, isSlow } of traced) {
        const time = `${ms.toFixed(2)} ms${isSlow ? ', beside the main thread' : ''}`
        const lines = (await planOf(statement)).slice(0, MAX_LINES)
        issues.push(note([`the database took ${time}`, ...lines].join('\n')))
      }
      return issues
    },
  }
}
