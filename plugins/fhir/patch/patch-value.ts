/** The value of an operation of a FHIRPath Patch, as it is stored in the element. */
import type { ElementShape, Elements, Place } from '../../model/service.ts'
import { type Exact, partsOf, valueKey } from './path-operations.ts'

/** Makes the error of an operation. `why`: a phrase. */
export type Fail = (why: string) => Error

export interface PatchValue {
  /** The type in the name of a value[x], such as `Quantity`; undefined for parts and resources. */
  readonly type: string | undefined
  readonly content: unknown
}

/** Throws 422 for a value that the element cannot have. */
export const buildValue = (elements: Elements, fail: Fail, part: Exact, inside: Place | undefined): PatchValue => {
  const key = valueKey(part)
  if (key !== undefined) return { type: key.slice('value'.length), content: part[key] }
  if (part.resource !== undefined) return { type: undefined, content: part.resource }
  const parts = partsOf(part, 'part')
  if (parts === undefined || parts.length === 0 || inside === undefined)
    throw fail('its value is none: a value[x], a resource, or parts')
  const made: Exact = {}
  for (const child of parts) {
    const childName = child.name as string
    const shape = elements.find(inside, childName)
    if (shape === undefined) throw fail(`its value has no element "${childName.slice(0, 64)}"`)
    const { type: valueType, content } = buildValue(elements, fail, child, shape.inside)
    const childKey = shape.choice === undefined ? childName : `${childName}${valueType ?? ''}`
    if (shape.repeats) made[childKey] = [...((made[childKey] as unknown[] | undefined) ?? []), content]
    else if (Object.hasOwn(made, childKey)) throw fail(`its value has "${childName}" twice`)
    else made[childKey] = content
  }
  return { type: undefined, content: made }
}

/** The JSON name of an element that gets a value, with the type for a value[x]. */
export const keyOfValue = (fail: Fail, child: string, shape: ElementShape, { type: valueType }: PatchValue): string => {
  if (shape.choice === undefined) return child
  const chosen = shape.choice.find((code) => code.toLowerCase() === valueType?.toLowerCase())
  if (chosen === undefined) throw fail(`"${child}" cannot be of type ${valueType ?? 'none'}`)
  return `${child}${valueType}`
}
