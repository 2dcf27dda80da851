/**
 * The builders of TypeBox that settings are declared with: the same objects and the same static types. TypeBox itself is more
 * than five hundred modules, which take a tenth of a start, so it is loaded only by plugins that import it themselves.
 */
import type { Type as TypeBox } from 'typebox'

type Builders = Pick<
  typeof TypeBox,
  | 'Array'
  | 'Boolean'
  | 'Integer'
  | 'Literal'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'Record'
  | 'String'
  | 'Union'
  | 'Unknown'
>

type Schema = Record<string, unknown>

const ANY_KEY = '^.*$'

/** Marks of TypeBox are not enumerable: a schema that is printed is plain JSON Schema. */
const marked = (schema: Schema, mark: string, value: unknown): Schema =>
  Object.defineProperty(schema, mark, { value, writable: true, enumerable: false, configurable: true })

const make = (kind: string, content: Schema, options: Schema = {}): Schema =>
  marked({ ...content, ...options }, '~kind', kind)

const isOptional = (schema: Schema): boolean => '~optional' in schema

const objectOf = (properties: Readonly<Record<string, Schema>>, options?: Schema): Schema => {
  const required = Object.keys(properties).filter((key) => !isOptional(properties[key] as Schema))
  return make('Object', { type: 'object', ...(required.length > 0 && { required }), properties }, options)
}

const recordOf = ({ pattern = ANY_KEY }: Schema, value: Schema, options?: Schema): Schema =>
  make('Record', { type: 'object', patternProperties: { [String(pattern)]: value } }, options)

const optional = (schema: Schema): Schema => {
  const copy: Schema = Object.create(null, Object.getOwnPropertyDescriptors(schema))
  return marked(Object.setPrototypeOf(copy, Object.prototype), '~optional', true)
}

const builders = {
  Array: (items: Schema, options?: Schema) => make('Array', { type: 'array', items }, options),
  Boolean: (options?: Schema) => make('Boolean', { type: 'boolean' }, options),
  Integer: (options?: Schema) => make('Integer', { type: 'integer' }, options),
  Literal: (value: unknown, options?: Schema) => make('Literal', { type: typeof value, const: value }, options),
  Number: (options?: Schema) => make('Number', { type: 'number' }, options),
  Object: objectOf,
  Optional: optional,
  Record: recordOf,
  String: (options?: Schema) => make('String', { type: 'string' }, options),
  Union: (anyOf: readonly Schema[], options?: Schema) => make('Union', { anyOf }, options),
  Unknown: (options?: Schema) => make('Unknown', {}, options),
}

// The static types are computed by TypeBox from what is given, which no signature here could repeat.
export const Type = builders as unknown as Builders
