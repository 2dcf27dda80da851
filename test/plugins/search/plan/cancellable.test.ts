/** A search that is cancelled ends between two candidates, also on SQLite, whose statements nobody can interrupt. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cancellable } from '../../../../plugins/database/sqlite/cancellable.ts'
import { between, scanSql, type Way } from '../../../../plugins/search/plan/along.ts'
import { nextTo } from '../../../../plugins/search/plan/plan.ts'
import { lookupClause } from '../../../../plugins/search/query/clause.ts'
import { matchesSql } from '../../../../plugins/search/query/clause-sql.ts'
import { prefixLookup } from '../../../../plugins/search/query/lookups/string.ts'
import type { Plan } from '../../../../plugins/search/query/plan-contract.ts'
import { raw } from '../../../../plugins/search/sql/fragment.ts'

const [first, second] = [1, 2].map((code) =>
  lookupClause({ text: 'name=a', description: '' }, [prefixLookup('sqlite', [code], 'a')]),
)
const ofType: Plan = {
  ...{ type: 1, conditions: [first!, second!], candidates: [], drivingClause: undefined },
  ...{ size: 9, isEstimate: true, isOrdered: true },
}
const PLANS: Readonly<Record<string, Plan>> = {
  'from the newest of a type': ofType,
  'from a clause that is collected': { ...ofType, drivingClause: first!, isOrdered: false },
  'from a clause that is read in order': { ...ofType, drivingClause: first! },
}
const position = { snapshotKey: 100, rid: 50 }

const way: Way = {
  walk: {
    ...{ table: 'ix_date', order: ['w.lo'], keys: ['w.lo'], once: raw('1 = 1'), nothing: 0 },
    parts: () => [raw('w.param = 3')],
    at: (values) => values,
  },
  ...{ descending: true, direction: 'older' },
}
const ASKED = /AND \(\(\+[dnw]\.rid & 7\) <> 0 OR query_runs\(\)\) AND /

for (const [name, plan] of Object.entries(PLANS))
  for (const [what, { text }] of [
    ['all matches', matchesSql(plan, 100)],
    ['a page', nextTo(plan, position, 10, 'older')],
    ['a sorted page', scanSql(plan, way, { pin: 100, limit: 10 })],
    ['a sorted page of near rows', scanSql(plan, way, { pin: 100, limit: 10, near: 500 })],
    ['a range of sort values', between(plan, way, 100, [])],
  ] as const)
    test(`${what} ${name}: each candidate is asked whether the query goes on`, () => {
      assert.match(cancellable(text), ASKED)
    })

test.run()
