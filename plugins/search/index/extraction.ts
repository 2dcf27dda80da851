/**
 * Extracts index rows from resources, by the columns of a registry. Needs no database, so that worker threads can run
 * it.
 */

import type { InterpretedNodes, ReferenceWalker } from '../../model/service.ts'
import { COLUMN_STEP } from '../definition/column-codes.ts'
import { MASK_BITS } from './columns.ts'
import { type Converters, createConverters } from './convert/converters.ts'
import { compileExtractor, type Extract, type ExtractorColumn } from './extractor.ts'
import type { Hasher } from './hash.ts'
import {
  COMPOSITE_COLUMNS,
  DATE_COLUMNS,
  IndexEntries,
  QUANTITY_COLUMNS,
  REFERENCE_COLUMNS,
  STRING_COLUMNS,
  TOKEN_COLUMNS,
} from './index-entries.ts'
import type { NumberedColumn, ParameterState } from './parameter-state.ts'
import { addUnlistedReferences } from './unlisted-references.ts'

export interface Extraction {
  /** All index rows of a resource. */
  extract(resource: Record<string, unknown>): IndexEntries
  readonly extractInto: Extract
  /** An extractor for some columns only. Its converters may differ from those that fill the index. */
  collector(type: string, codes: readonly number[], converters?: Converters): Extract
  /** The bits of the columns that have a row in `rows`. */
  masks(type: string, rows: IndexEntries): readonly number[]
}

export interface ExtractionParts {
  readonly hasher: Hasher
  readonly referenceWalker: ReferenceWalker
  readonly converters?: Converters
  readonly state: () => ParameterState
  /** Returns the evaluator for expressions that are not plain paths. Undefined until fhirpath.js is loaded. */
  readonly toNodes: () => ((expression: string) => InterpretedNodes) | undefined
}

/** An expression that fails for a resource, as `single()` does for several items, selects nothing in it. */
const careful =
  (nodes: InterpretedNodes): InterpretedNodes =>
  (resource) => {
    try {
      return nodes(resource)
    } catch {
      return []
    }
  }

export const createExtraction = (parts: ExtractionParts): Extraction => {
  const { hasher, referenceWalker, state, toNodes, converters = createConverters(hasher) } = parts

  const toExtractorColumn = ({ column, row }: NumberedColumn): ExtractorColumn => {
    const evaluate = column.exotic === true ? toNodes() : undefined
    return {
      code: row.code,
      kind: column.kind,
      branches: column.branches,
      ...(column.components === undefined ? {} : { components: column.components }),
      ...(column.of === undefined ? {} : { refers: column.of.refers }),
      ...(evaluate === undefined ? {} : { nodes: careful(evaluate(column.expression)) }),
    }
  }
  const compile = (type: string, wanted: (code: number) => boolean, own: Converters = converters): Extract =>
    compileExtractor((state().byType.get(type) ?? []).filter(({ row }) => wanted(row.code)).map(toExtractorColumn), own)
  const extractorOf = (type: string): Extract => {
    const { extractors } = state()
    const found = extractors.get(type)
    if (found !== undefined) return found
    const made = compile(type, () => true)
    extractors.set(type, made)
    return made
  }
  const extractInto: Extract = (resource, rows) => {
    const type = resource.resourceType as string
    extractorOf(type)(resource, rows)
    const { restOf, holdsReference } = state()
    const rest = restOf.get(type)
    if (rest !== undefined)
      addUnlistedReferences(referenceWalker, hasher, resource, rest, holdsReference, rows.reference)
  }
  return {
    extractInto,
    extract(resource) {
      const made = new IndexEntries()
      extractInto(resource, made)
      return made
    },
    collector(type, codes, own) {
      const wanted = new Set(codes)
      return compile(type, (code) => wanted.has(code), own)
    },
    masks(_type, made) {
      const { bitOf } = state()
      const masks = [0, 0, 0]
      const seen = new Set<number>()
      let last = -1
      const note = (code: unknown): void => {
        const place = Math.floor((code as number) / COLUMN_STEP)
        // Successive rows mostly belong to the same column.
        if (place === last || seen.has(place)) return
        last = place
        seen.add(place)
        const bit = bitOf[place] ?? -1
        if (bit < 0) return
        const at = Math.floor(bit / MASK_BITS)
        masks[at] = (masks[at] as number) + 2 ** (bit % MASK_BITS)
      }
      const { token, reference, date, quantity, string, composite, present } = made
      for (let at = 0; at < token.length; at += TOKEN_COLUMNS) note(token[at])
      for (let at = 0; at < reference.length; at += REFERENCE_COLUMNS) note(reference[at])
      for (let at = 0; at < date.length; at += DATE_COLUMNS) note(date[at])
      for (let at = 0; at < quantity.length; at += QUANTITY_COLUMNS) note(quantity[at])
      for (let at = 0; at < string.length; at += STRING_COLUMNS) note(string[at])
      for (let at = 0; at < composite.length; at += COMPOSITE_COLUMNS) note(composite[at])
      for (const code of present) note(code)
      return masks
    },
  }
}
