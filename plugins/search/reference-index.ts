/**
 * Answers questions about references for the check of referential integrity: where the references of a resource
 * point, which of the targets are stored, and which resources refer to a given one.
 * https://hl7.org/fhir/R4/references.html
 */

import { createPause, type OwnUrl } from '../../kernel/index.ts'
import { chain, type MaybePromise, type Sql, sql, type Transaction } from '../database/service.ts'
import { type ReadReference, type ReferenceWalker, readReferences, type Target } from '../model/service.ts'
import { DELETED, StoredVersion, type TypeCodes, type VersionRow } from '../storage/service.ts'
import { CANONICAL, COLUMN_STEP } from './definition/column-codes.ts'
import { absoluteTarget } from './index/convert/reference.ts'
import { indexFindingsOf } from './index/index-findings.ts'
import type { Registry } from './index/registry.ts'

type Json = Readonly<Record<string, unknown>>

/** A current resource that refers to a target. */
export interface Referrer {
  /** `Patient/1` */
  readonly target: string
  readonly type: string
  readonly id: string
}

/** The stored version of a target, which `RestrictedChange.sees` takes. */
export type TargetVersion = StoredVersion

export interface References {
  /**
   * Every Reference of the resource, in document order. An absolute one under `ownUrl` counts as a reference to this
   * server.
   */
  of(resource: Json, ownUrl: OwnUrl | undefined): readonly ReadReference[]
  /** The FHIRPath of each reference, in the same order. Costs a walk; called only to write an error message. */
  paths(resource: Json): readonly string[]
  /**
   * Indexes in `targets` of the resources that exist: not deleted, and with the version that the reference names.
   * Usually one statement. No other transaction can delete them until this one has ended.
   */
  held(transaction: Transaction, targets: readonly Target[]): MaybePromise<ReadonlySet<number>>
  /** Like `held`, but returns the version of each target, or undefined where it does not exist. */
  find(transaction: Transaction, targets: readonly Target[]): MaybePromise<readonly (TargetVersion | undefined)[]>
  /** Current resources that refer to one of `targets`, at most `most` of them. */
  referrers(
    transaction: Transaction,
    targets: readonly Target[],
    ownUrl: OwnUrl | undefined,
    most: number,
  ): Promise<readonly Referrer[]>
}

const IS_THERE = `(r.flags & ${DELETED}) = 0`
const versionIs = (version: string): string =>
  `(${version} = 0 OR ${version} = r.ver OR EXISTS (SELECT 1 FROM history h WHERE h.rid = r.rid AND h.ver = ${version} AND (h.flags & ${DELETED}) = 0))`

// The parameter is JSON, [[type, id, version], …]; version 0 means the current one. FOR KEY SHARE locks as a foreign
// key does: a deletion of the target waits, an update does not.
const HELD = `(SELECT t.at, (t.one ->> 0)::int AS type, t.one ->> 1 AS id, (t.one ->> 2)::int AS ver FROM jsonb_array_elements(?::jsonb) WITH ORDINALITY AS t(one, at) OFFSET 0) w CROSS JOIN LATERAL (SELECT r.rid FROM resource r WHERE r.type = w.type AND r.id = w.id AND ${IS_THERE} AND ${versionIs('w.ver')} FOR KEY SHARE OF r`
const heldTargets = sql('fhir.held', {
  sqlite: `SELECT w.key AS at FROM json_each(?) w CROSS JOIN resource r WHERE r.type = w.value ->> 0 AND r.id = w.value ->> 1 AND ${IS_THERE} AND ${versionIs('(w.value ->> 2)')}`,
  postgres: `SELECT (w.at - 1)::int AS at FROM ${HELD}) f`,
})
// Locks the targets of references, and fails by a division by zero when fewer exist than are expected, so that the transaction
// is repeated with `heldTargets`. SKIP LOCKED leaves out targets that another transaction is deleting, instead of waiting for it.
const presumeHeld = sql(
  'fhir.held-presumed',
  `SELECT 1 / (count(*) = ?::bigint)::int FROM (SELECT 1 FROM ${HELD} SKIP LOCKED) f) p`,
)

const FOUND_COLUMNS =
  'coalesce(h.ver, r.ver) AS ver, coalesce(h.upd, r.upd) AS upd, CASE WHEN h.ver IS NULL THEN r.flags ELSE h.flags END AS flags, CASE WHEN h.ver IS NULL THEN r.body ELSE h.body END AS body'
const findTargets = sql('fhir.find-targets', {
  sqlite: `SELECT w.key AS at, r.rid AS rid, r.type AS type, r.id AS id, ${FOUND_COLUMNS} FROM json_each(?) w CROSS JOIN resource r LEFT JOIN history h ON h.rid = r.rid AND h.ver = (w.value ->> 2) WHERE r.type = w.value ->> 0 AND r.id = w.value ->> 1 AND ${IS_THERE} AND ${versionIs('(w.value ->> 2)')}`,
  postgres: `SELECT (w.at - 1)::int AS at, f.* FROM (SELECT t.at, (t.one ->> 0)::int AS type, t.one ->> 1 AS id, (t.one ->> 2)::int AS ver FROM jsonb_array_elements(?::jsonb) WITH ORDINALITY AS t(one, at) OFFSET 0) w CROSS JOIN LATERAL (SELECT r.rid, r.type, r.id, ${FOUND_COLUMNS} FROM resource r LEFT JOIN history h ON h.rid = r.rid AND h.ver = w.ver WHERE r.type = w.type AND r.id = w.id AND ${IS_THERE} AND ${versionIs('w.ver')} FOR KEY SHARE OF r) f`,
})

/**
 * Reads the columns of the index one by one with a recursive query, and looks for the targets in those that hold
 * references. `others`: columns that hold none, separated by commas.
 */
const referrersOf = (others: string, count: number): Sql => {
  // The columns of contained resources have codes below 0 and are skipped: the container's columns hold the same
  // references.
  const columns =
    'WITH RECURSIVE p(param) AS (SELECT min(x.param) FROM ix_ref x WHERE x.param > 0 UNION ALL SELECT (SELECT min(x.param) FROM ix_ref x WHERE x.param > p.param) FROM p WHERE p.param IS NOT NULL)'
  const isReference = `p.param % ${COLUMN_STEP} <> ${CANONICAL} AND p.param - p.param % ${COLUMN_STEP} NOT IN (${others === '' ? '-1' : others})`
  const selected = 'f.target AS target, t.rid AS rid, t.type AS type, t.id AS id'
  return sql(`fhir.referrers-${count}`, {
    sqlite: `${columns} SELECT ${selected} FROM p CROSS JOIN json_each(?) w CROSS JOIN ix_ref f CROSS JOIN resource t WHERE ${isReference} AND f.param = p.param AND f.target = w.value AND t.rid = f.rid LIMIT ?`,
    postgres: `${columns} SELECT ${selected} FROM p CROSS JOIN (SELECT value::bigint AS target FROM jsonb_array_elements_text(?::jsonb)) w CROSS JOIN LATERAL (SELECT x.target, x.rid FROM ix_ref x WHERE x.param = p.param AND x.target = w.target OFFSET 0) f JOIN resource t ON t.rid = f.rid WHERE ${isReference} LIMIT ?`,
  })
}

interface ReferrerRow {
  readonly target: number
  readonly rid: number
  readonly type: number
  readonly id: string
}

const VERSION = /^[1-9]\d{0,8}$/
const versionOf = ({ version }: Target): number =>
  version === undefined ? 0 : VERSION.test(version) ? Number(version) : -1

/** Most targets of one SQLite statement: it blocks the main thread for a few milliseconds. */
const MAX_AT_ONCE = 500

/**
 * Runs the statement for one part of `wanted` after the other. `take` receives the rows and the index where the part
 * begins.
 */
const inParts = async <Row>(
  transaction: Transaction,
  statement: Sql,
  wanted: readonly unknown[],
  take: (rows: readonly Row[], from: number) => void,
): Promise<void> => {
  const pause = createPause()
  for (let from = 0; from < wanted.length; from += MAX_AT_ONCE) {
    const part = JSON.stringify(wanted.slice(from, from + MAX_AT_ONCE))
    take(await transaction.all<Row>(statement, [part]), from)
    await pause()
  }
}

const heldInParts = async (transaction: Transaction, wanted: readonly unknown[]): Promise<ReadonlySet<number>> => {
  const found = new Set<number>()
  await inParts<{ readonly at: number }>(transaction, heldTargets, wanted, (rows, from) => {
    for (const { at } of rows) found.add(from + at)
  })
  return found
}

/** A row of a target; `at` is its index in the part of the targets that was queried. */
type FoundRow = VersionRow & { readonly at: number }

const toPlaces = (rows: readonly { readonly at: number }[]): ReadonlySet<number> => new Set(rows.map(({ at }) => at))

export interface ReferencesParts {
  readonly referenceWalker: ReferenceWalker
  readonly registry: Registry
  readonly types: TypeCodes
  /** True for SQLite, which runs in this process. */
  readonly isEmbedded: boolean
}

export const createReferences = ({ referenceWalker, registry, types, isEmbedded }: ReferencesParts): References => {
  let made: { readonly others: string; readonly statement: Sql } | undefined
  let count = 0
  // Made again when the columns without references have changed, as they do when a client posts or deletes a
  // SearchParameter.
  const findReferrers = (): Sql => {
    const others = registry.canonicalColumns.join(', ')
    if (made?.others !== others) {
      count += 1
      made = { others, statement: referrersOf(others, count) }
    }
    return made.statement
  }
  const isType = (name: string): boolean => types.code(name) !== undefined
  const keyOf = ({ type, id }: Target): string => `${type}/${id}`

  return {
    of: (resource, ownUrl) =>
      indexFindingsOf(resource)?.references ?? readReferences(referenceWalker, isType, resource, ownUrl),
    paths: (resource) => indexFindingsOf(resource)?.paths ?? referenceWalker.paths(resource),
    held(transaction, targets) {
      // A type that no package has defined has no code, and no resources: -1 finds nothing.
      const wanted = targets.map((target) => [types.code(target.type) ?? -1, target.id, versionOf(target)])
      if (isEmbedded && wanted.length > MAX_AT_ONCE) return heldInParts(transaction, wanted)
      const asked = JSON.stringify(wanted)
      // Nearly always all targets exist, so this is asserted without waiting for a result.
      if (transaction.assertOptimistically(presumeHeld, [wanted.length, asked])) return new Set(targets.keys())
      return chain(transaction.all<{ at: number }>(heldTargets, [asked]), toPlaces)
    },
    find(transaction, targets) {
      const wanted = targets.map((target) => [types.code(target.type) ?? -1, target.id, versionOf(target)])
      const found = new Array<StoredVersion | undefined>(targets.length).fill(undefined)
      const add = (rows: readonly FoundRow[], from = 0): typeof found => {
        for (const row of rows) found[from + row.at] = new StoredVersion(types.name(row.type), row)
        return found
      }
      if (isEmbedded && wanted.length > MAX_AT_ONCE)
        return inParts<FoundRow>(transaction, findTargets, wanted, add).then(() => found)
      return chain(transaction.all<FoundRow>(findTargets, [JSON.stringify(wanted)]), (rows) => add(rows))
    },
    async referrers(transaction, targets, ownUrl, most) {
      const { long, short } = registry.hasher
      const base = ownUrl === undefined ? undefined : short(ownUrl)
      const keys = new Map<number, string>()
      for (const target of targets) {
        const key = keyOf(target)
        const relative = long(key)
        keys.set(relative, key)
        if (base !== undefined) keys.set(absoluteTarget(relative, base), key)
      }
      const rows = await transaction.all<ReferrerRow>(findReferrers(), [JSON.stringify([...keys.keys()]), most])
      const found = new Map<string, Referrer>()
      for (const { target, rid, type, id } of rows) {
        const key = keys.get(target) as string
        found.set(`${rid} ${key}`, { target: key, type: types.name(type), id })
      }
      return [...found.values()]
    },
  }
}
