/** Types that are known when an expression is compiled. */
import type { FieldType, TypeFields } from '../../snapshot/fields.ts'
import type { StaticType } from './code.ts'

export const staticTypeOf = (shape: TypeFields, type: FieldType): StaticType => {
  switch (type.kind) {
    case 'primitive':
      return { kind: 'primitive', name: type.name }
    case 'complex':
      return { kind: 'complex', name: type.url }
    case 'block':
      return { kind: 'block', name: type.path, shape, block: shape.blocks.get(type.path)! }
    case 'resource':
      return { kind: 'resource', name: 'Resource' }
  }
}

/** The name without its namespace: `Quantity` for `FHIR.Quantity`. */
export const bareType = (type: string): string => type.slice(type.lastIndexOf('.') + 1)

/** Ignores the case of primitives, because invariants use System.Boolean and FHIR.boolean for the same values. */
export const isNamed = (name: string, wanted: string, kind: StaticType['kind']): boolean => {
  const bare = name.slice(name.lastIndexOf('/') + 1)
  return bare === wanted || (kind === 'primitive' && bare.toLowerCase() === wanted.toLowerCase())
}

export const isType = (type: FieldType, wanted: string): boolean =>
  type.kind === 'primitive'
    ? isNamed(type.name, wanted, 'primitive')
    : type.kind === 'complex' && isNamed(type.url, wanted, 'complex')
