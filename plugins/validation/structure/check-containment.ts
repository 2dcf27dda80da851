/** Rules on the contained resources of a resource, which are decided when all of its local references are known. */
import { isObject } from './is-object.ts'
import { quoted, type StructureFaultFactory, type StructureFaults } from './structure-issues.ts'

/** A reference to a contained resource, or to the container. */
export interface LocalReference {
  /** `#id` or `#` */
  readonly target: string
  /** True for a Reference or canonical; only in these `#` means the container. */
  readonly strong: boolean
  /** Index of the contained resource that has the reference; -1 if the container itself has it. */
  readonly within: number
}

/**
 * Checks that contained resources have different ids (https://hl7.org/fhir/R4/references.html#contained), and dom-3: each one
 * is referred to, or refers to its container. `from`: index of the first local reference of this resource
 * in `locals`.
 */
export const checkContainment = (
  faults: StructureFaultFactory,
  found: StructureFaults,
  resource: Record<string, unknown>,
  locals: readonly LocalReference[],
  from: number,
): StructureFaults => {
  if (!Array.isArray(resource.contained)) return found
  const targets = new Set<string>()
  const upwards = new Set<number>()
  for (let at = from; at < locals.length; at++) {
    const local = locals[at]!
    targets.add(local.target)
    if (local.strong && local.target === '#') upwards.add(local.within)
  }
  let list = found
  const places = new Map<unknown, number>()
  resource.contained.forEach((contained, index) => {
    if (!isObject(contained) || typeof contained.resourceType !== 'string') return
    const { id } = contained
    const earlier = places.get(id)
    if (id !== undefined && earlier !== undefined) {
      list = faults.add(
        list,
        'invariant',
        `.contained[${index}].id`,
        `contained[${earlier}] has the id ${quoted(id)} too; give each contained resource an id of its own`,
      )
    } else places.set(id, index)
    if (targets.has(`#${contained.id}`) || upwards.has(index)) return
    list = faults.add(
      list,
      'invariant',
      `.contained[${index}]`,
      `dom-3: nothing refers to this contained resource${contained.id === undefined ? ', which has no id' : ` as #${contained.id}`}`,
    )
  })
  return list
}
