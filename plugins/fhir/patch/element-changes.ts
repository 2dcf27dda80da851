/** The changes of a FHIRPath Patch to elements: add, replace and delete. */
import type { Elements } from '../../model/service.ts'
import { choiceIn } from '../../model/service.ts'
import { PatchImmutable } from './errors.ts'
import { type ParsedOperation, valueFor } from './parsed-operation.ts'
import { type Fail, keyOfValue } from './patch-value.ts'
import type { PatchedElements } from './patched-elements.ts'
import { at, changeBoth, type Keys, type PatchedResource, spliceList } from './patched-resource.ts'
import type { Exact } from './path-operations.ts'

const IMMUTABLE: ReadonlySet<string> = new Set(['resourceType', 'id', 'meta.versionId', 'meta.lastUpdated'])

const checkMutable = (keys: Keys): void => {
  if (IMMUTABLE.has(keys.join('.'))) throw PatchImmutable(keys.join('.'))
}

export const createElementChanges = (
  elements: Elements,
  { find, one, shapeOf }: PatchedElements,
  resource: PatchedResource,
) => {
  const add = (asked: ParsedOperation): void => {
    const {
      operation: { name },
      steps,
      fail,
    } = asked
    const parent = one(find(steps), fail)
    const shape = shapeOf(parent, name, fail)
    const value = valueFor(elements, asked, shape)
    const key = keyOfValue(fail, name, shape, value)
    checkMutable([...parent.keys, key])
    const holder = parent.value as Exact
    if (shape.repeats)
      changeBoth(resource, (root, toOwn) => {
        const own = at(root, parent.keys)
        spliceList(own, key, ((own[key] as unknown[] | undefined) ?? []).length, 0, [toOwn(value.content)])
      })
    if (shape.repeats) return
    const isThere = shape.choice === undefined ? Object.hasOwn(holder, key) : choiceIn(holder, name, shape.choice)
    if (isThere) throw fail(`"${name}" is there already and does not repeat`)
    changeBoth(resource, (root, toOwn) => {
      at(root, parent.keys)[key] = toOwn(value.content)
    })
  }

  /** Removes the element at `keys`. */
  const removeAt = (keys: Keys, fail: Fail): void => {
    checkMutable(keys)
    const last = keys.at(-1)
    if (last === undefined) throw fail('the whole resource cannot be removed')
    changeBoth(resource, (root) => {
      if (typeof last === 'number') {
        const holder = at(root, keys.slice(0, -2))
        const key = keys.at(-2) as string
        spliceList(holder, key, last, 1, [])
        resource.emptied.add(holder[key])
      } else {
        const holder = at(root, keys.slice(0, -1))
        delete holder[last]
        delete holder[`_${last}`]
        resource.emptied.add(holder)
      }
    })
  }

  const remove = ({ steps, fail }: ParsedOperation): void => {
    const spots = find(steps)
    if (spots.length > 0) removeAt(one(spots, fail).keys, fail)
  }

  const replace = (asked: ParsedOperation): void => {
    const { steps, fail } = asked
    const { keys, inside } = one(find(steps), fail)
    const key = keys.at(-1)
    if (key === undefined) throw fail('the whole resource is replaced by an update')
    checkMutable(keys)
    const last = steps.at(-1)
    const value = valueFor(elements, asked, { inside })
    if (last?.kind === 'name' && typeof key === 'string' && key !== last.name) {
      // A value[x]: the new value may have another type, and so another JSON name.
      const parent = one(find(steps.slice(0, -1)), fail)
      const other = keyOfValue(fail, last.name, shapeOf(parent, last.name, fail), value)
      removeAt(keys, fail)
      changeBoth(resource, (root, toOwn) => {
        at(root, parent.keys)[other] = toOwn(value.content)
      })
      return
    }
    changeBoth(resource, (root, toOwn) => {
      const holder = at(root, keys.slice(0, -1))
      holder[key] = toOwn(value.content)
      if (typeof key === 'string') delete holder[`_${key}`]
    })
  }

  return { add, replace, delete: remove }
}
