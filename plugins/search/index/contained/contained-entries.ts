/** Makes index rows of the contained resources of a resource, under the column codes for contained resources. */
import type { Extraction } from '../extraction.ts'
import { IndexEntries, TEXT_COLUMNS } from '../index-entries.ts'
import { INDEX_KINDS, TABLES } from '../tables.ts'
import { CONTAINED_OFFSET, MAX_CONTAINED } from './key-space.ts'

export interface ContainedRows {
  readonly type: string
  /** The id of the contained resource. */
  readonly id: string
  readonly rows: IndexEntries
  readonly masks: readonly number[]
}

const shift = (list: unknown[], width: number): void => {
  for (let at = 0; at < list.length; at += width) list[at] = (list[at] as number) - CONTAINED_OFFSET
}

/**
 * One item for each item of `contained`, undefined where it has no type or no id. Only the first MAX_CONTAINED are
 * indexed.
 */
export const toContainedRows = (
  registry: Pick<Extraction, 'extract' | 'masks'>,
  resource: Readonly<Record<string, unknown>> | undefined,
): readonly (ContainedRows | undefined)[] => {
  const contained = resource?.contained
  if (!Array.isArray(contained)) return []
  return contained.slice(0, MAX_CONTAINED).map((one): ContainedRows | undefined => {
    const { resourceType: type, id } = (one ?? {}) as Record<string, unknown>
    if (typeof type !== 'string' || typeof id !== 'string') return undefined
    const rows = registry.extract(one as Record<string, unknown>)
    const masks = registry.masks(type, rows)
    for (const kind of INDEX_KINDS) shift(rows[kind], TABLES[kind].width)
    shift(rows.text, TEXT_COLUMNS)
    return { type, id, rows, masks }
  })
}

export const NO_ROWS = new IndexEntries()
