/** Applies a FHIRPath Patch. https://hl7.org/fhir/R4/fhirpatch.html */

import type { ElementShape, Elements, Place } from '../../model/service.ts'
import {
  choiceIn,
  copyExact,
  isObject,
  type PatchStep,
  type PatchTarget,
  parsePatchPath,
  resolvePath,
} from '../../model/service.ts'
import { PatchImmutable, PatchPath, PatchTooLarge } from './errors.ts'
import { type Exact, type PathOperation, partsOf, valueKey } from './path-operations.ts'
import { removeEmpty } from './remove-empty.ts'

const IMMUTABLE: ReadonlySet<string> = new Set(['resourceType', 'id', 'meta.versionId', 'meta.lastUpdated'])

const MAX_VISITED = 1_000_000 // elements that the paths of one patch may visit, which take a second at most

/** Splices a list of values, and the parallel list (`_name`) with the ids and extensions of primitives. */
const spliceList = (holder: Exact, key: string, start: number, count: number, items: readonly unknown[]): void => {
  const list = (holder[key] ?? []) as unknown[]
  const beside = holder[`_${key}`]
  if (Array.isArray(beside)) {
    while (beside.length < list.length) beside.push(null)
    beside.splice(start, count, ...items.map(() => null))
    if (beside.every((one) => one === null)) delete holder[`_${key}`]
  }
  list.splice(start, count, ...items)
  holder[key] = list
}

interface Value {
  /** The type in the name of a value[x], such as `Quantity`; undefined for parts and resources. */
  readonly type: string | undefined
  readonly content: unknown
}

/**
 * Applies a patch to `exact`, the result of parseExact, and changes it in place. Throws 422, and NotLoaded for a type
 * whose elements are not loaded yet.
 */
export const applyPathPatch = (
  elements: Elements,
  type: string,
  exact: Exact,
  operations: readonly PathOperation[],
): Exact => {
  // Paths compare values, so they are evaluated on a copy with plain numbers. Each change is made in both.
  const plain = JSON.parse(JSON.stringify(exact)) as Exact
  const emptied = new Set<unknown>()
  const budget = { left: MAX_VISITED, spent: () => PatchTooLarge('its paths look at too many elements') }
  const both = (work: (root: Exact, toOwn: (content: unknown) => unknown) => void): void => {
    work(plain, (content) => JSON.parse(JSON.stringify(content)))
    work(exact, copyExact)
  }

  for (const [number, operation] of operations.entries()) {
    const { kind, path, name, index, source, destination } = operation
    const fail = (why: string) => PatchPath(number, path.slice(0, 200), why)
    const steps = parsePatchPath(path, type)
    if (steps === undefined)
      throw fail(`a path begins with ${type} and leads to its elements by names, indexes, where, first, last, ofType`)

    const find = (some: readonly PatchStep[]): readonly PatchTarget[] =>
      resolvePath(elements, [{ keys: [], value: plain, inside: { type, path: '' } }], some, budget)
    const one = (spots: readonly PatchTarget[]): PatchTarget => {
      const [only] = spots
      if (only === undefined) throw fail('there is no such element')
      if (spots.length > 1) throw fail('it leads to several elements')
      return only
    }
    const placeOf = ({ value, inside }: PatchTarget): Place => {
      if (!isObject(value) || inside === undefined) throw fail('it leads to a value that has no parts')
      return inside.type === 'Resource' ? { type: String(value.resourceType), path: '' } : inside
    }
    const shapeOf = (spot: PatchTarget, child: string): ElementShape => {
      const shape = elements.find(placeOf(spot), child)
      if (shape === undefined) throw fail(`${placeOf(spot).type} has no element "${child.slice(0, 64)}" there`)
      return shape
    }
    const checkMutable = (keys: readonly (string | number)[]): void => {
      if (IMMUTABLE.has(keys.join('.'))) throw PatchImmutable(keys.join('.'))
    }
    const at = (root: Exact, keys: readonly (string | number)[]): Exact =>
      keys.reduce<unknown>((holder, key) => (holder as Exact)[key], root) as Exact

    /** Builds the value of an operation as it is stored in the element. */
    const build = (part: Exact, inside: Place | undefined): Value => {
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
        const { type: valueType, content } = build(child, shape.inside)
        const childKey = shape.choice === undefined ? childName : `${childName}${valueType ?? ''}`
        if (shape.repeats) made[childKey] = [...((made[childKey] as unknown[] | undefined) ?? []), content]
        else if (Object.hasOwn(made, childKey)) throw fail(`its value has "${childName}" twice`)
        else made[childKey] = content
      }
      return { type: undefined, content: made }
    }
    const valueFor = (shape: Pick<ElementShape, 'inside'>): Value => build(operation.value as Exact, shape.inside)
    /** The JSON name of an element that gets a value, with the type for a value[x]. */
    const keyOf = (child: string, shape: ElementShape, { type: valueType }: Value): string => {
      if (shape.choice === undefined) return child
      const chosen = shape.choice.find((code) => code.toLowerCase() === valueType?.toLowerCase())
      if (chosen === undefined) throw fail(`"${child}" cannot be of type ${valueType ?? 'none'}`)
      return `${child}${valueType}`
    }

    const add = (): void => {
      const parent = one(find(steps))
      const shape = shapeOf(parent, name)
      const value = valueFor(shape)
      const key = keyOf(name, shape, value)
      checkMutable([...parent.keys, key])
      const holder = parent.value as Exact
      if (shape.repeats)
        both((root, toOwn) => {
          const own = at(root, parent.keys)
          spliceList(own, key, ((own[key] as unknown[] | undefined) ?? []).length, 0, [toOwn(value.content)])
        })
      if (shape.repeats) return
      const isThere = shape.choice === undefined ? Object.hasOwn(holder, key) : choiceIn(holder, name, shape.choice)
      if (isThere) throw fail(`"${name}" is there already and does not repeat`)
      both((root, toOwn) => {
        at(root, parent.keys)[key] = toOwn(value.content)
      })
    }

    /** The list that the last step of a path names. */
    const list = (): {
      readonly parent: PatchTarget
      readonly key: string
      readonly shape: ElementShape
      length: number
    } => {
      const last = steps.at(-1)
      if (last?.kind !== 'name') throw fail('it names no list')
      const parent = one(find(steps.slice(0, -1)))
      const shape = shapeOf(parent, last.name)
      if (!shape.repeats) throw fail(`"${last.name}" does not repeat`)
      const held = (parent.value as Exact)[last.name]
      return { parent, key: last.name, shape, length: Array.isArray(held) ? held.length : 0 }
    }
    const insert = (): void => {
      const { parent, key, shape, length } = list()
      if (index > length) throw fail(`the list has ${length} items, so none can be put at ${index}`)
      const { content } = valueFor(shape)
      both((root, toOwn) => spliceList(at(root, parent.keys), key, index, 0, [toOwn(content)]))
    }
    const move = (): void => {
      const { parent, key, length } = list()
      if (source >= length || destination >= length) throw fail(`the list has ${length} items`)
      both((root) => {
        const holder = at(root, parent.keys)
        for (const one of [key, `_${key}`]) {
          const items = holder[one]
          if (!Array.isArray(items)) continue
          while (items.length < length) items.push(null)
          items.splice(destination, 0, ...items.splice(source, 1))
        }
      })
    }

    const remove = (keys: readonly (string | number)[]): void => {
      checkMutable(keys)
      const last = keys.at(-1)
      if (last === undefined) throw fail('the whole resource cannot be removed')
      both((root) => {
        if (typeof last === 'number') {
          const holder = at(root, keys.slice(0, -2))
          const key = keys.at(-2) as string
          spliceList(holder, key, last, 1, [])
          emptied.add(holder[key])
        } else {
          const holder = at(root, keys.slice(0, -1))
          delete holder[last]
          delete holder[`_${last}`]
          emptied.add(holder)
        }
      })
    }
    const replace = (): void => {
      const { keys, inside } = one(find(steps))
      const key = keys.at(-1)
      if (key === undefined) throw fail('the whole resource is replaced by an update')
      checkMutable(keys)
      const last = steps.at(-1)
      const value = valueFor({ inside })
      if (last?.kind === 'name' && typeof key === 'string' && key !== last.name) {
        // A value[x]: the new value may have another type, and so another JSON name.
        const parent = one(find(steps.slice(0, -1)))
        const other = keyOf(last.name, shapeOf(parent, last.name), value)
        remove(keys)
        both((root, toOwn) => {
          at(root, parent.keys)[other] = toOwn(value.content)
        })
        return
      }
      both((root, toOwn) => {
        const holder = at(root, keys.slice(0, -1))
        holder[key] = toOwn(value.content)
        if (typeof key === 'string') delete holder[`_${key}`]
      })
    }

    if (kind === 'add') add()
    else if (kind === 'insert') insert()
    else if (kind === 'move') move()
    else if (kind === 'replace') replace()
    else {
      const spots = find(steps)
      if (spots.length > 0) remove(one(spots).keys)
    }
  }
  removeEmpty(exact, emptied)
  return exact
}
