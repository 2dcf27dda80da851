/** Expands value sets to their codes. https://hl7.org/fhir/R4/valueset.html#compositions */
import { readCanonical } from './canonical.ts'
import { CodeSet } from './code-set.ts'
import type { CodeSystem } from './code-system.ts'
import { findAsOf } from './definitions-as-of.ts'
import { createExpandSystem } from './expand-system.ts'
import {
  type Expanded,
  type ExpansionOptions,
  type FindDefinition,
  type Include,
  type Json,
  NotExpandableHere,
} from './expansion-contract.ts'
import { UnsupportedFilter } from './filter.ts'
import { givenExpansion } from './given-expansion.ts'
import { createMemorySource } from './memory-source.ts'
import { NeedsMemory } from './needs-memory.ts'
import { noVersions, type SystemVersions } from './system-versions.ts'

/** The context of one step of an expansion. */
interface Way {
  readonly versions: SystemVersions
  /** The value sets that include it. */
  readonly trail: readonly string[]
  /** What the value set at hand contains. */
  readonly contained: readonly Json[]
  readonly supplements: ReadonlyMap<string, readonly CodeSystem[]>
}

const MAX_LEVELS = 20 // nesting depth of value sets
const NEEDS_SUPPLEMENT = 'http://hl7.org/fhir/StructureDefinition/valueset-supplement'

const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? (value as Json[]) : [])

const expanderOf = (find: FindDefinition) => {
  const ofSystem = createExpandSystem(find)

  /** Adds the supplements that a value set needs. */
  const withSupplements = async (valueSet: Json, known: Way['supplements']): Promise<Way['supplements']> => {
    const needed = listOf(valueSet.extension).filter(({ url }) => url === NEEDS_SUPPLEMENT)
    if (needed.length === 0) return known
    const all = new Map(known)
    for (const { valueCanonical } of needed) {
      const found = await find.codeSystem(String(valueCanonical))
      if (found?.content !== 'supplement' || found.supplements === undefined)
        throw new NotExpandableHere(`the supplement ${valueCanonical} that it needs is not here`)
      const { url } = readCanonical(found.supplements)
      all.set(url, [...(all.get(url) ?? []), found])
    }
    return all
  }

  const included = async (include: Include, inactive: boolean, way: Way): Promise<CodeSet> => {
    const parts: CodeSet[] = []
    if (include.system !== undefined)
      parts.push(await ofSystem({ ...include, system: include.system }, { ...way, inactive }))
    for (const canonical of include.valueSet ?? []) {
      const inner = await expandNamed(canonical, way)
      if (inner === undefined) throw new NotExpandableHere(`the value set ${canonical} in it is not here`)
      parts.push(inner.expansion)
    }
    const [first, ...others] = parts
    if (first === undefined) throw new NotExpandableHere('a part of it names neither a system nor a value set')
    for (const other of others) await first.intersect(other)
    if (!inactive && include.valueSet !== undefined) await first.removeInactive()
    return first
  }

  const composed = async (compose: Json, way: Way): Promise<CodeSet> => {
    const inactive = compose.inactive !== false
    const [first, ...others] = (compose.include ?? []) as readonly Include[]
    const into = first === undefined ? new CodeSet() : await included(first, inactive, way)
    for (const include of others) await into.addAll(await included(include, inactive, way))
    for (const exclude of (compose.exclude ?? []) as readonly Include[]) {
      const left = await included(exclude, true, way)
      const [fragment] = left.open.keys()
      if (fragment !== undefined)
        throw new NotExpandableHere(
          `it excludes codes of ${fragment}, of which there is only what is called "fragment"`,
        )
      await into.remove(left)
    }
    return into
  }

  /** The value set that a canonical names, or one that is contained in the value set at hand. */
  const findNamed = (canonical: string, { contained }: Way): Promise<Json | undefined> =>
    canonical.startsWith('#')
      ? Promise.resolve(contained.find(({ resourceType, id }) => resourceType === 'ValueSet' && `#${id}` === canonical))
      : find.valueSet(canonical)

  const expandNamed = async (canonical: string, way: Way) => {
    const { trail } = way
    const name = canonical.startsWith('#') ? `${trail.at(-1)}${canonical}` : canonical
    if (trail.includes(name) || trail.length > MAX_LEVELS)
      throw new NotExpandableHere('it includes itself, or is nested too deeply')
    const resource = await findNamed(canonical, way)
    if (resource === undefined) return undefined
    // What a contained value set refers to is contained in the same resource.
    const contained = canonical.startsWith('#') ? way.contained : listOf(resource.contained)
    return { resource, expansion: await expandGiven(resource, name, { ...way, contained }) }
  }

  const expandGiven = async (valueSet: Json, name: string, way: Way): Promise<CodeSet> => {
    const given = givenExpansion(valueSet.expansion as Json | undefined)
    const brought = given && new CodeSet(given)
    if (valueSet.compose === undefined) {
      if (brought === undefined) throw new NotExpandableHere(`${name} says neither what it is made of nor its codes`)
      return brought
    }
    try {
      return await composed(valueSet.compose as Json, {
        ...way,
        trail: [...way.trail, name],
        supplements: await withSupplements(valueSet, way.supplements),
      })
    } catch (error) {
      if (!(error instanceof NotExpandableHere || error instanceof UnsupportedFilter)) throw error
      if (brought !== undefined) return brought
      throw new NotExpandableHere(error.message)
    }
  }
  return { expandNamed, expandGiven }
}

const wayOf = ({ versions = noVersions() }: ExpansionOptions, contained: readonly Json[] = []): Way => ({
  ...{ versions, trail: [], contained, supplements: new Map() },
})

/** Finds code systems in memory only. */
const inMemory = (find: FindDefinition): FindDefinition => ({
  ...find,
  async source(canonical) {
    const found = await find.codeSystem(canonical)
    return found && createMemorySource(found)
  },
})

export const createExpander = (find: FindDefinition) => {
  const expanderFor = ({ asOf }: ExpansionOptions, isInMemory: boolean) => {
    const used = isInMemory ? inMemory(find) : find
    return expanderOf(asOf === undefined ? used : findAsOf(used, asOf))
  }
  type Expander = ReturnType<typeof expanderOf>
  /** What the index cannot combine is expanded once more, in memory. */
  const expanding = async <T>(options: ExpansionOptions, work: (expander: Expander) => Promise<T>): Promise<T> => {
    try {
      return await work(expanderFor(options, false))
    } catch (error) {
      if (!(error instanceof NeedsMemory)) throw error
      return work(expanderFor(options, true))
    }
  }
  return {
    /**
     * Undefined when the value set is unknown. Throws NotExpandableHere or UnsupportedFilter, and 400 for one that is
     * too large.
     */
    expand: (canonical: string, options: ExpansionOptions = {}): Promise<Expanded | undefined> =>
      expanding(options, (expander) => expander.expandNamed(canonical, wayOf(options))),
    /** `name` is that of the value set in messages and in the detection of cycles. */
    expandResource: async (resource: Json, name: string, options: ExpansionOptions = {}): Promise<Expanded> => ({
      resource,
      expansion: await expanding(options, (expander) =>
        expander.expandGiven(resource, name, wayOf(options, listOf(resource.contained))),
      ),
    }),
  }
}
