/** The functions that the generated checks call for parts of elements, whatever resource these stand in. */
import type { GeneratedCheck } from './generated-check.ts'
import { isObject } from './is-object.ts'
import { quoted, type StructureFaultFactory, type StructureFaults } from './structure-issues.ts'
import { createNarrativeCheck } from './xhtml.ts'

/** Whether a null in an array of primitives is allowed, because `siblings[index]` is an object with its extensions. */
const isFilled = (siblings: unknown, index: number): boolean => Array.isArray(siblings) && isObject(siblings[index])

export const createElementChecks = (faults: StructureFaultFactory) => {
  const checkNarrative = createNarrativeCheck()

  const idOnly = (found: StructureFaults, path: string): StructureFaults =>
    faults.add(found, 'invariant', path, 'ele-1: an element has a value or children besides its id')

  const valueXorExtension = (found: StructureFaults, extension: Record<string, unknown>): StructureFaults =>
    faults.add(
      found,
      'invariant',
      '',
      `ext-1: an extension has either a value or extensions, this one has ${extension.extension === undefined ? 'neither' : 'both'}`,
    )

  /** Warns of a urn:uuid: or urn:oid: that is invalid. It is not an error, because R4 types Reference.reference as a string. */
  const oddUrn = (found: StructureFaults, path: string, target: string): StructureFaults =>
    faults.add(
      found,
      'value',
      path,
      `${quoted(target)} refers to nothing: after urn:uuid: there is no UUID, or after urn:oid: no OID`,
      'warning',
    )

  /** Checks `_name` of a repeating primitive: an array as long as that of the values, with an Element or null for each. */
  const siblings = (
    found: StructureFaults,
    path: string,
    list: unknown,
    values: unknown,
    element: GeneratedCheck,
  ): StructureFaults => {
    if (!Array.isArray(list) || list.length === 0) return faults.notList(found, path, list)
    let all = found
    if (Array.isArray(values) && values.length !== list.length) {
      all = faults.add(
        all,
        'structure',
        path,
        `its values and their extensions must be arrays of the same length, filled up with null; they have ${values.length} and ${list.length} items`,
      )
    }
    for (let index = 0; index < list.length; index++) {
      const one = list[index]
      const value: unknown = Array.isArray(values) ? values[index] : undefined
      const lacks = value === null || value === undefined
      if (one === null) {
        if (!lacks || Array.isArray(values)) continue // the check of the values reports a null in both arrays
        all = faults.add(all, 'structure', `${path}[${index}]`, 'null stands neither for a value nor for an extension')
        continue
      }
      const inner = element(one)
      if (inner !== null) all = faults.nestAt(all, inner, path, index)
      else if (lacks && one.extension === undefined) all = idOnly(all, `${path}[${index}]`)
    }
    return all
  }

  const narrative = (found: StructureFaults, path: string, div: string): StructureFaults => {
    const fault = checkNarrative(div)
    if (fault !== null) return faults.add(found, 'invariant', path, fault)
    const { unlisted } = checkNarrative
    return unlisted === undefined ? found : faults.add(found, 'invariant', path, unlisted, 'warning')
  }

  return { isFilled, siblings, idOnly, valueXorExtension, oddUrn, narrative }
}
