/** Expands value sets to their codes. https://hl7.org/fhir/R4/valueset.html#compositions */
import { type Canonical, joinVersion } from './canonical.ts'
import { type CodeSystem, readDesignations } from './code-system.ts'
import { ExpandedCodes, type Expansion } from './expanded-codes.ts'
import { toTest, UnsupportedFilter, type ValueSetFilter } from './filter.ts'

type Json = Readonly<Record<string, unknown>>

export interface FindDefinition {
  /** The url and version that a name stands for. */
  readName(type: 'CodeSystem' | 'ValueSet', text: string): Promise<Canonical>
  valueSet(canonical: string): Promise<Json | undefined>
  codeSystem(canonical: string): Promise<CodeSystem | undefined>
}

interface Include {
  readonly system?: string
  readonly version?: string
  readonly concept?: readonly Json[]
  readonly filter?: readonly ValueSetFilter[]
  readonly valueSet?: readonly string[]
}

/** The version of a code system to use where a value set names none. */
export interface Pin {
  readonly system: string
  readonly version: string
}

/** The context of one step of an expansion. */
interface Way {
  readonly pin: Pin | undefined
  /** The value sets that include it. */
  readonly trail: readonly string[]
}

const MAX_LEVELS = 20 // nesting depth of value sets

/** Thrown when a value set cannot be expanded; the message is a phrase that says why. */
export class NotExpandableHere extends Error {}

export const createExpander = (find: FindDefinition) => {
  const whole = async (canonical: string): Promise<CodeSystem> => {
    const found = await find.codeSystem(canonical)
    if (found === undefined) throw new NotExpandableHere(`the code system ${canonical} is not here`)
    if (found.content !== 'complete')
      throw new NotExpandableHere(`of the code system ${canonical} there is only what is called "${found.content}"`)
    return found
  }

  const ofSystem = async (include: Include & { system: string }, inactive: boolean, { pin }: Way) => {
    const { url, version: named } = await find.readName('CodeSystem', include.system)
    const stated = include.version ?? named
    const canonical = joinVersion(url, stated ?? (pin?.system === url ? pin.version : undefined))
    const { concept, filter = [] } = include
    const into = new ExpandedCodes()
    // Listed codes can be used without their code system. If it is available, it adds details and shows which codes it
    // does not have.
    const system = concept === undefined ? await whole(canonical) : await find.codeSystem(canonical)
    const common = {
      system: url,
      version: stated ?? system?.version,
      isPinned: stated !== undefined,
      language: system?.language,
    }
    const isCaseSensitive = system?.isCaseSensitive ?? true
    const add = (code: string, listed: Json): void => {
      const known = system?.find(code)
      if (!inactive && known?.isInactive === true) return
      const one = {
        ...common,
        code: known?.code ?? code,
        display: typeof listed.display === 'string' ? listed.display : known?.display,
        designations: readDesignations(listed.designation),
        isInactive: known?.isInactive ?? false,
        isAbstract: known?.isAbstract ?? false,
        isUnknown: known === undefined && system?.content === 'complete',
        concept: known,
      }
      into.add(one, isCaseSensitive)
    }
    if (concept !== undefined) for (const listed of concept) add(String(listed.code), listed)
    else if (system !== undefined) {
      const tests = filter.map((one) => toTest(system, one))
      for (const one of system.concepts.values()) if (tests.every((test) => test(one))) add(one.code, {})
    }
    return into
  }

  const included = async (include: Include, inactive: boolean, way: Way): Promise<ExpandedCodes> => {
    const parts: ExpandedCodes[] = []
    if (include.system !== undefined) parts.push(await ofSystem({ ...include, system: include.system }, inactive, way))
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

  /** The expansion that a ValueSet resource contains, if it is complete. */
  const given = (expansion: Json | undefined): ExpandedCodes | undefined => {
    if (expansion === undefined || expansion.offset !== undefined) return undefined
    const into = new ExpandedCodes()
    let count = 0
    const read = (list: unknown): void => {
      for (const one of (Array.isArray(list) ? list : []) as any[]) {
        count += 1
        const { system, version, code, display, designation, abstract, inactive } = one
        if (typeof code === 'string' && abstract !== true)
          into.add(
            {
              ...{ system: system ?? '', version, isPinned: version !== undefined, code, display, language: undefined },
              ...{ designations: readDesignations(designation), concept: undefined },
              ...{ isInactive: inactive === true, isAbstract: false, isUnknown: false },
            },
            true,
          )
        read(one.contains)
      }
    }
    read(expansion.contains)
    return typeof expansion.total === 'number' && expansion.total > count ? undefined : into
  }

  const expandNamed = async (canonical: string, { pin, trail }: Way): Promise<ExpandedCodes | undefined> => {
    if (trail.includes(canonical) || trail.length > MAX_LEVELS)
      throw new NotExpandableHere('it includes itself, or is nested too deeply')
    const valueSet = await find.valueSet(canonical)
    return valueSet === undefined ? undefined : expandGiven(valueSet, canonical, { pin, trail })
  }

  const expandGiven = async (valueSet: Json, canonical: string, { pin, trail }: Way): Promise<ExpandedCodes> => {
    const brought = given(valueSet.expansion as Json | undefined)
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
