/**
 * Access to a Binary also depends on the resource that Binary.securityContext names: a caller with limited access
 * sees a Binary only if it may read that resource. Every Reference in a Binary counts, because the index does not
 * distinguish their elements; R4 defines no other one. A Binary is hidden where the context cannot be decided: a
 * reference to another server, an identifier, or a Binary, which would have a context of its own.
 * https://hl7.org/fhir/R4/binary-definitions.html#Binary.securityContext
 */
import type { OwnUrl } from '../../../kernel/index.ts'
import { isOwnBase, type ReferenceWalker, readLiteral } from '../../model/service.ts'
import type { StoredVersion } from '../../storage/service.ts'
import { CANONICAL, COLUMN_STEP } from '../definition/column-codes.ts'
import type { Registry } from '../index/registry.ts'
import type { SearchClause } from '../query/clause.ts'
import { ownBase } from '../query/own-base.ts'
import { and, join, q, raw } from '../sql/fragment.ts'

export interface SecurityContext {
  readonly type: string
  readonly id: string
}

/** The security contexts of a version; undefined for one that cannot be decided. */
export type SecurityContexts = readonly (SecurityContext | undefined)[]

const NONE: SecurityContexts = Object.freeze([])

/** False when the text cannot contain a reference. An escape may hide a member name, so a text with one is parsed. */
const mayRefer = (text: string): boolean =>
  text.includes('"securityContext"') || text.includes('"reference"') || text.includes('\\u')

const read = (reference: unknown, ownUrl: OwnUrl | undefined): SecurityContext | undefined => {
  const literal = typeof reference === 'string' ? readLiteral(reference) : undefined
  if (literal === undefined || literal.type === 'Binary') return undefined
  const { base, type, id } = literal
  return isOwnBase(base, ownUrl) ? { type, id } : undefined
}

/** Reads the security contexts of versions and caches them. Empty for every type but Binary. */
export const createSecurityContexts = (links: Pick<ReferenceWalker, 'references'>) => {
  const known = new WeakMap<StoredVersion, readonly unknown[]>()
  return (version: StoredVersion, ownUrl: OwnUrl | undefined): SecurityContexts => {
    if (version.type !== 'Binary' || version.deleted) return NONE
    let references = known.get(version)
    if (references === undefined) {
      const { text } = version
      references = mayRefer(text)
        ? links.references(JSON.parse(text) as Record<string, unknown>).map(({ value }) => value.reference)
        : []
      known.set(version, references)
    }
    return references.length === 0 ? NONE : references.map((one) => read(one, ownUrl))
  }
}

/** A type that the caller may read, and the conditions on its resources. */
export interface Readable {
  /** Code of the type. */
  readonly type: number
  readonly conditions: readonly SearchClause[]
}

/** Matches Binaries without a security context, and those whose security contexts all match `readable`. */
export const securityContextClause = (
  { hasher, canonicalColumns }: Pick<Registry, 'hasher' | 'canonicalColumns'>,
  ownUrl: OwnUrl | undefined,
  readable: readonly Readable[],
): SearchClause => {
  const others = canonicalColumns.join(', ') || '-1'
  return {
    text: 'securityContext',
    description: 'without a security context, or with one that may be read',
    checkSql(d, name) {
      const [r, t] = [name(), name()]
      const place = `${r}.param % ${COLUMN_STEP}`
      const isReference = raw(
        `${r}.param > 0 AND ${place} <> ${CANONICAL} AND ${r}.param - ${place} NOT IN (${others})`,
      )
      const base = ownBase(place, ownUrl === undefined ? undefined : hasher.short(ownUrl))
      const branches = readable.map(
        ({ type, conditions }) => q`WHEN ${type} THEN ${and(conditions.map((one) => one.checkSql(t, name)))}`,
      )
      const mayRead =
        branches.length === 0 ? raw('1 = 0') : q`CASE ${raw(t)}.type ${join(branches, ' ')} ELSE 1 = 0 END`
      const found = q`(SELECT 1 FROM ix_res ${raw(t)} WHERE ${raw(t)}.ref = ${raw(r)}.target - ${base} AND ${mayRead} LIMIT 1)`
      return q`(SELECT 1 FROM ix_ref ${raw(r)} WHERE ${raw(r)}.rid = ${raw(d)}.rid AND ${isReference} AND ${found} IS NULL LIMIT 1) IS NULL`
    },
  }
}
