/** The elements that the paths of a patch lead to, and what the definitions say about them. */
import type { ElementShape, Elements, PatchStep, PatchTarget, Place } from '../../model/service.ts'
import { isObject, resolvePath } from '../../model/service.ts'
import { PatchTooLarge } from './errors.ts'
import type { Fail } from './patch-value.ts'
import type { Exact } from './path-operations.ts'

const MAX_VISITED = 1_000_000 // elements that the paths of one patch may visit, which take a second at most

export interface PatchedElements {
  find(steps: readonly PatchStep[]): readonly PatchTarget[]
  /** The only one of some elements. Throws 422 if there are none or several. */
  one(spots: readonly PatchTarget[], fail: Fail): PatchTarget
  /** What the definitions say of a child of an element. Throws 422 if there is no such child, and NotLoaded. */
  shapeOf(spot: PatchTarget, child: string, fail: Fail): ElementShape
}

/** `plain`: the resource with plain numbers, because paths compare values. `type`: its type. */
export const createPatchedElements = (elements: Elements, type: string, plain: Exact): PatchedElements => {
  const budget = { left: MAX_VISITED, spent: () => PatchTooLarge('its paths look at too many elements') }

  const placeOf = ({ value, inside }: PatchTarget, fail: Fail): Place => {
    if (!isObject(value) || inside === undefined) throw fail('it leads to a value that has no parts')
    return inside.type === 'Resource' ? { type: String(value.resourceType), path: '' } : inside
  }

  return {
    find: (steps) => resolvePath(elements, [{ keys: [], value: plain, inside: { type, path: '' } }], steps, budget),
    one(spots, fail) {
      const [only] = spots
      if (only === undefined) throw fail('there is no such element')
      if (spots.length > 1) throw fail('it leads to several elements')
      return only
    },
    shapeOf(spot, child, fail) {
      const shape = elements.find(placeOf(spot, fail), child)
      if (shape === undefined) throw fail(`${placeOf(spot, fail).type} has no element "${child.slice(0, 64)}" there`)
      return shape
    },
  }
}
