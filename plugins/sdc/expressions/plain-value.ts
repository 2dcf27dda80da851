/** Makes JSON of the nodes that fhirpath.js gives. */

/** A node of fhirpath.js: a value with its place in a resource. */
interface Node {
  readonly data: unknown
  readonly fhirNodeDataType?: string | null
}

/** A quantity of fhirpath.js, which is not FHIR's Quantity. */
interface PathQuantity {
  readonly value: unknown
  readonly unit: string
}

const UCUM = 'http://unitsofmeasure.org'

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'data' in value && 'fhirNodeDataType' in value

const isPathQuantity = (value: object): value is PathQuantity =>
  'unit' in value && 'value' in value && Object.getPrototypeOf(value) !== Object.prototype

/** JSON of a value of fhirpath.js: a primitive, or an object as it is in its resource. */
export const plainValue = (given: unknown): unknown => {
  const value = isNode(given) ? given.data : given
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'object' || value === null) return value
  if (isPathQuantity(value)) {
    const unit = value.unit.replaceAll("'", '')
    return { value: Number(plainValue(value.value)), unit, system: UCUM, code: unit }
  }
  const { toJSON } = value as { toJSON?: () => unknown }
  return typeof toJSON === 'function' ? toJSON.call(value) : value
}

/** The FHIR type of a node, such as `Coding`; undefined where the value is a result of a calculation. */
export const typeOfNode = (given: unknown): string | undefined =>
  isNode(given) && typeof given.fhirNodeDataType === 'string' ? given.fhirNodeDataType : undefined
