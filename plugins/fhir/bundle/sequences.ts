/**
 * Groups the entries of a batch into sequences. The entries of a sequence are performed one after the other; different
 * sequences may be performed concurrently. When a change of a type is conditional, all changes of that type form one
 * sequence, so that a condition finds what earlier entries have created.
 */
import type { RequestContext } from '../../../kernel/index.ts'
import type { BundleEntry } from './bundle-request.ts'
import { readUrl } from './entry-interaction.ts'

const WITH_QUERY = new Set(['PUT', 'PATCH', 'DELETE'])

/** The criteria of a conditional change; undefined where the entry has none. */
const criteriaOf = ({ method, url, headers }: BundleEntry): string | undefined => {
  if (method === 'POST') return headers['if-none-exist']
  const at = url.indexOf('?')
  return at === -1 || !WITH_QUERY.has(method) ? undefined : url.slice(at + 1)
}

// A chain, _has, _filter and _list search through other resources, and these modifiers depend on a value set.
const THROUGH_OTHERS = /^_(?:has|filter|list)\b|\.|:(?:not-in|in|above|below)$/

/** True when a change of another type can change what the criteria match. */
const reachesOtherTypes = (criteria: string): boolean => {
  // If-None-Exist may begin with `Patient?`, or with that behind the base URL.
  const query = criteria.replace(/^[^=?]*\?/, '')
  for (const [name] of new URLSearchParams(query)) if (THROUGH_OTHERS.test(name)) return true
  return false
}

/**
 * The type that an entry changes; undefined for an operation, which may change any type, and for a URL without a type.
 */
const typeOf = ({ url }: BundleEntry, request: RequestContext): string | undefined => {
  const { segments } = readUrl(url, request)
  return segments.some((one) => one.startsWith('$')) ? undefined : segments[0]
}

const typesOf = (entries: readonly BundleEntry[], request: RequestContext): readonly (string | undefined)[] =>
  entries.map((entry) => {
    try {
      return typeOf(entry, request)
    } catch {
      return '' // performing the entry will refuse it, so it changes nothing
    }
  })

/** `entries` have the same rank, in the order of the batch. A sequence takes the place of its first entry. */
export const toSequences = (
  entries: readonly BundleEntry[],
  request: RequestContext,
): readonly (readonly BundleEntry[])[] => {
  const alone = (): readonly (readonly BundleEntry[])[] => entries.map((entry) => [entry])
  const criteria = entries.map(criteriaOf)
  if (criteria.every((one) => one === undefined)) return alone()
  const types = typesOf(entries, request)
  const isOneSequence = criteria.some(
    (one, at) => one !== undefined && (types[at] === undefined || reachesOtherTypes(one)),
  )
  const conditional = new Set(types.filter((_type, at) => criteria[at] !== undefined))
  if (isOneSequence || types.includes(undefined)) return [entries]
  const sequences: BundleEntry[][] = []
  const byType = new Map<string | undefined, BundleEntry[]>()
  for (const [at, entry] of entries.entries()) {
    const known = byType.get(types[at])
    if (known !== undefined) {
      known.push(entry)
      continue
    }
    const sequence = [entry]
    sequences.push(sequence)
    if (conditional.has(types[at])) byType.set(types[at], sequence)
  }
  return sequences
}
