/**
 * FHIR types that each kind of search parameter can index. There is a converter for each of them.
 * https://hl7.org/fhir/R4/search.html#table
 */
import { type IndexKind, MIME_TYPE, OWN_CANONICAL } from './kind.ts'

const INDEXED_TYPES: Readonly<Record<IndexKind, ReadonlySet<string>>> = {
  token: new Set([
    ...['Coding', 'CodeableConcept', 'Identifier', 'ContactPoint', MIME_TYPE, 'code', 'boolean', 'string', 'id'],
    ...['uri', 'url', 'canonical', 'oid', 'uuid', 'integer', 'positiveInt', 'unsignedInt'],
  ]),
  reference: new Set(['Reference', 'canonical', 'uri', 'url', 'oid', 'uuid', 'Resource', OWN_CANONICAL]),
  date: new Set(['date', 'dateTime', 'instant', 'Period', 'Timing']),
  string: new Set([
    ...['string', 'markdown', 'code', 'id', 'uri', 'url', 'canonical'],
    ...['HumanName', 'Address', 'CodeableConcept'],
  ]),
  quantity: new Set([
    ...['Quantity', 'SimpleQuantity', 'Age', 'Duration', 'Count', 'Distance', 'MoneyQuantity', 'Money'],
    ...['decimal', 'integer', 'positiveInt', 'unsignedInt', 'Range', 'SampledData'],
  ]),
  uri: new Set(['uri', 'url', 'oid', 'uuid', 'string', 'code', 'canonical']),
  position: new Set(['Location.position']),
}

/** Extensions always count as indexable, because their value may be of any type. */
export const isIndexable = (kind: IndexKind, type: string): boolean =>
  type === 'Extension' || INDEXED_TYPES[kind].has(type)
