/** An element of a resource together with its type and path, and functions to get from it to its child elements. */

import {
  type ElementBlock,
  type Field,
  type FieldMember,
  type FieldType,
  type TypeFields,
  typeUrl,
} from '../../model/service.ts'

export interface LocationPath {
  readonly up: LocationPath | undefined
  readonly name: string
  /** Index in the array; -1 if the element is not in an array. */
  readonly index: number
}

export const pathText = ({ up, name, index }: LocationPath): string =>
  `${up === undefined ? '' : `${pathText(up)}.`}${name}${index < 0 ? '' : `[${index}]`}`

export interface ElementLocation {
  /** Undefined for a primitive that has only extensions. */
  readonly value: unknown
  /** Value of the member `_name` of a primitive, which holds its id and extensions. */
  readonly sibling: Record<string, unknown> | undefined
  readonly type: FieldType
  /** The fields of the type in which `type` is defined; elements defined in place are looked up there. */
  readonly shape: TypeFields
  readonly path: LocationPath
}

/** The fields of a type by its canonical URL; undefined if it is not installed. Throws Pending if it is not loaded yet. */
export type FieldsOf = (url: string) => TypeFields | undefined

/** Name of the type, e.g. `Quantity`, `code` or `Patient`; `BackboneElement` for elements defined in place. */
export const typeNameOf = ({ type, value }: ElementLocation): string => {
  switch (type.kind) {
    case 'primitive':
      return type.name
    case 'complex':
      return type.url.slice(type.url.lastIndexOf('/') + 1)
    case 'block':
      return 'BackboneElement'
    case 'resource':
      return String((value as { resourceType?: unknown }).resourceType)
  }
}

export interface ElementContent {
  readonly object: Record<string, unknown>
  readonly shape: TypeFields
  readonly block: ElementBlock
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

const first = (shape: TypeFields | undefined): ElementBlock | undefined => shape?.blocks.values().next().value

/** The JSON object with the child elements, and their definitions. Undefined if there is no object or its type is not installed. */
export const contentOf = (location: ElementLocation, shapeOf: FieldsOf): ElementContent | undefined => {
  const { type, value, sibling } = location
  if (type.kind === 'primitive') {
    const shape = shapeOf(typeUrl('Element'))
    const block = first(shape)
    return shape === undefined || block === undefined ? undefined : { object: sibling ?? {}, shape, block }
  }
  if (!isObject(value)) return undefined
  const shape =
    type.kind === 'block' ? location.shape : shapeOf(type.kind === 'complex' ? type.url : typeUrl(typeNameOf(location)))
  const block = type.kind === 'block' ? location.shape.blocks.get(type.path) : first(shape)
  return shape === undefined || block === undefined ? undefined : { object: value, shape, block }
}

/** The field that `name` in a definition means. `only` is set if the name includes a type: `valueQuantity` is value[x] as Quantity. */
export const fieldOf = (
  { block }: ElementContent,
  name: string,
): { field: Field; only: FieldType | undefined } | undefined => {
  const field = block.fields.find((one) => one.name === name)
  if (field !== undefined) return { field, only: undefined }
  for (const one of block.fields) {
    if (!one.choice || !name.startsWith(one.name)) continue
    const only = one.types.find(({ suffix }) => one.name + suffix === name)
    if (only !== undefined) return { field: one, only }
  }
  return undefined
}

/** The members in which a field may be. For a choice of many types only those that the object has, which is faster. */
const present = (object: Record<string, unknown>, { members }: Field): Iterable<FieldMember> => {
  const { all, byName } = members
  if (all.length < 4) return all
  const found = new Set<FieldMember>()
  for (const key in object) {
    const member = byName.get(key)
    if (member !== undefined) found.add(member)
  }
  return found
}

/** The elements of a field that the object has. `only` limits a choice to one type. */
export const locationsOf = (
  { object, shape }: ElementContent,
  field: Field,
  up: LocationPath,
  only?: FieldType,
): ElementLocation[] => {
  const found: ElementLocation[] = []
  for (const { json, under, type } of present(object, field)) {
    if (only !== undefined && type !== only) continue
    const value = object[json]
    const sibling = object[under]
    if (value === undefined && sibling === undefined) continue
    const add = (one: unknown, beside: unknown, index: number): void => {
      if ((one === undefined || one === null) && !isObject(beside)) return
      found.push({
        value: one ?? undefined,
        sibling: isObject(beside) ? beside : undefined,
        type,
        shape,
        path: { up, name: field.name, index },
      })
    }
    if (field.list) {
      const values: unknown[] = Array.isArray(value) ? value : []
      const siblings: unknown[] = Array.isArray(sibling) ? sibling : []
      for (let at = 0; at < Math.max(values.length, siblings.length); at++) add(values[at], siblings[at], at)
    } else add(value, sibling, -1)
  }
  return found
}
