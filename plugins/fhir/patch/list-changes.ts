/** The changes of a FHIRPath Patch to lists: insert and move. */
import type { ElementShape, Elements, PatchTarget } from '../../model/service.ts'
import { type ParsedOperation, valueFor } from './parsed-operation.ts'
import type { PatchedElements } from './patched-elements.ts'
import { at, changeBoth, type PatchedResource, spliceList } from './patched-resource.ts'
import type { Exact } from './path-operations.ts'

export const createListChanges = (
  elements: Elements,
  { find, one, shapeOf }: PatchedElements,
  resource: PatchedResource,
) => {
  /** The list that the last step of a path names. */
  const list = ({
    steps,
    fail,
  }: ParsedOperation): {
    readonly parent: PatchTarget
    readonly key: string
    readonly shape: ElementShape
    length: number
  } => {
    const last = steps.at(-1)
    if (last?.kind !== 'name') throw fail('it names no list')
    const parent = one(find(steps.slice(0, -1)), fail)
    const shape = shapeOf(parent, last.name, fail)
    if (!shape.repeats) throw fail(`"${last.name}" does not repeat`)
    const held = (parent.value as Exact)[last.name]
    return { parent, key: last.name, shape, length: Array.isArray(held) ? held.length : 0 }
  }

  const insert = (asked: ParsedOperation): void => {
    const { index } = asked.operation
    const { parent, key, shape, length } = list(asked)
    if (index > length) throw asked.fail(`the list has ${length} items, so none can be put at ${index}`)
    const { content } = valueFor(elements, asked, shape)
    changeBoth(resource, (root, toOwn) => spliceList(at(root, parent.keys), key, index, 0, [toOwn(content)]))
  }

  const move = (asked: ParsedOperation): void => {
    const { source, destination } = asked.operation
    const { parent, key, length } = list(asked)
    if (source >= length || destination >= length) throw asked.fail(`the list has ${length} items`)
    changeBoth(resource, (root) => {
      const holder = at(root, parent.keys)
      for (const one of [key, `_${key}`]) {
        const items = holder[one]
        if (!Array.isArray(items)) continue
        while (items.length < length) items.push(null)
        items.splice(destination, 0, ...items.splice(source, 1))
      }
    })
  }

  return { insert, move }
}
