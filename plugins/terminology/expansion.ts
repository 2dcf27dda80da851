/** Expands value sets to their codes. https://hl7.org/fhir/R4/valueset.html#compositions */
import { createExpandSystem } from './expand-system.ts'
import { ExpandedCodes, type Expansion } from './expanded-codes.ts'
import { type FindDefinition, type Include, type Json, NotExpandableHere, type Pin } from './expansion-contract.ts'
import { UnsupportedFilter } from './filter.ts'
import { givenExpansion } from './given-expansion.ts'

/** The context of one step of an expansion. */
interface Way {
  readonly pin: Pin | undefined
  /** The value sets that include it. */
  readonly trail: readonly string[]
}

const MAX_LEVELS = 20 // nesting depth of value sets

export const createExpander = (find: FindDefinition) => {
  const ofSystem = createExpandSystem(find)

  const included = async (include: Include, inactive: boolean, way: Way): Promise<ExpandedCodes> => {
    const parts: ExpandedCodes[] = []
    if (include.system !== undefined)
      parts.push(await ofSystem({ ...include, system: include.system }, inactive, way.pin))
    for (const canonical of include.valueSet ?? []) {
      const inner = await expandNamed(canonical, way)
      if (inner === undefined) throw new NotExpandableHere(`the value set ${canonical} in it is not here`)
      parts.push(inner)
    }
    const [first, ...others] = parts
    if (first === undefined) throw new NotExpandableHere('a part of it names neither a system nor a value set')
    for (const other of others) first.intersect(other)
    return first
  }

  const composed = async (compose: Json, way: Way): Promise<ExpandedCodes> => {
    const inactive = compose.inactive !== false
    const into = new ExpandedCodes()
    for (const include of (compose.include ?? []) as readonly Include[])
      into.addAll(await included(include, inactive, way))
    for (const exclude of (compose.exclude ?? []) as readonly Include[]) into.remove(await included(exclude, true, way))
    return into
  }

  const expandNamed = async (canonical: string, { pin, trail }: Way): Promise<ExpandedCodes | undefined> => {
    if (trail.includes(canonical) || trail.length > MAX_LEVELS)
      throw new NotExpandableHere('it includes itself, or is nested too deeply')
    const valueSet = await find.valueSet(canonical)
    return valueSet === undefined ? undefined : expandGiven(valueSet, canonical, { pin, trail })
  }

  const expandGiven = async (valueSet: Json, canonical: string, { pin, trail }: Way): Promise<ExpandedCodes> => {
    const brought = givenExpansion(valueSet.expansion as Json | undefined)
    if (valueSet.compose === undefined) {
      if (brought === undefined)
        throw new NotExpandableHere(`${canonical} says neither what it is made of nor its codes`)
      return brought
    }
    try {
      return await composed(valueSet.compose as Json, { pin, trail: [...trail, canonical] })
    } catch (error) {
      if (!(error instanceof NotExpandableHere || error instanceof UnsupportedFilter)) throw error
      if (brought !== undefined) return brought
      throw new NotExpandableHere(error.message)
    }
  }
  return {
    /**
     * Undefined when the value set is unknown. Throws NotExpandableHere or UnsupportedFilter, and 400 for one that is
     * too large.
     */
    expand: (canonical: string, pin?: Pin): Promise<Expansion | undefined> =>
      expandNamed(canonical, { pin, trail: [] }),
    /** `canonical` names it in messages and in the detection of cycles. */
    expandResource: (valueSet: Json, canonical: string, pin?: Pin): Promise<Expansion> =>
      expandGiven(valueSet, canonical, { pin, trail: [] }),
  }
}
