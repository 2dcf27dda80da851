/** Value sets → their codes. https://hl7.org/fhir/R4/valueset.html#compositions */
import { type CodeSystem, type Concept, isInactive } from './code-system.ts'
import { TooManyCodes } from './errors.ts'
import { type Filter, toTest, Unfiltered } from './filter.ts'

export interface ExpandedCode {
  readonly system: string
  readonly code: string
  readonly display: string | undefined
}

/** By system and code, in the order they are given. */
export type Expansion = ReadonlyMap<string, ExpandedCode>

type Json = Readonly<Record<string, unknown>>

export interface Find {
  valueSet(canonical: string): Promise<Json | undefined>
  codeSystem(canonical: string): Promise<CodeSystem | undefined>
}

interface Include {
  readonly system?: string
  readonly version?: string
  readonly concept?: readonly { readonly code: string; readonly display?: string }[]
  readonly filter?: readonly Filter[]
  readonly valueSet?: readonly string[]
}

/** No value set that stands for more is expanded, whoever asks. */
export const MOST_CODES = 50_000
const MOST_LEVELS = 20 // value sets in value sets

/** Why a value set cannot be expanded; a phrase. */
export class Unexpandable extends Error {}

export const keyOf = (system: string, code: string): string => `${system}|${code}`

const add = (into: Map<string, ExpandedCode>, one: ExpandedCode): void => {
  const key = keyOf(one.system, one.code)
  if (!into.has(key)) into.set(key, one)
  if (into.size > MOST_CODES) throw TooManyCodes(one.system, MOST_CODES)
}

export const createExpander = (find: Find) => {
  const whole = async (system: string, version: string | undefined): Promise<CodeSystem> => {
    const found = await find.codeSystem(version === undefined ? system : `${system}|${version}`)
    if (found === undefined) throw new Unexpandable(`the code system ${system} is not here`)
    if (found.content !== 'complete')
      throw new Unexpandable(`of the code system ${system} there is only what is called "${found.content}"`)
    return found
  }

  const ofSystem = async (include: Include & { system: string }, inactive: boolean): Promise<Expansion> => {
    const { system, version, concept, filter = [] } = include
    const into = new Map<string, ExpandedCode>()
    if (concept !== undefined) {
      for (const { code, display } of concept) add(into, { system, code, display })
      return into
    }
    const { concepts, ...rest } = await whole(system, version)
    const tests = filter.map((one) => toTest({ concepts, ...rest }, one))
    const isMeant = (one: Concept): boolean => (inactive || !isInactive(one)) && tests.every((test) => test(one))
    for (const one of concepts.values()) if (isMeant(one)) add(into, { system, code: one.code, display: one.display })
    return into
  }

  const included = async (include: Include, inactive: boolean, trail: readonly string[]): Promise<Expansion> => {
    const parts: Expansion[] = []
    if (include.system !== undefined) parts.push(await ofSystem({ ...include, system: include.system }, inactive))
    for (const canonical of include.valueSet ?? []) {
      const inner = await expand(canonical, trail)
      if (inner === undefined) throw new Unexpandable(`the value set ${canonical} in it is not here`)
      parts.push(inner)
    }
    const [first, ...others] = parts
    if (first === undefined) throw new Unexpandable('a part of it names neither a system nor a value set')
    return others.length === 0 ? first : new Map([...first].filter(([key]) => others.every((other) => other.has(key))))
  }

  const composed = async (compose: Json, trail: readonly string[]): Promise<Expansion> => {
    const inactive = compose.inactive !== false
    const into = new Map<string, ExpandedCode>()
    for (const include of (compose.include ?? []) as readonly Include[])
      for (const one of (await included(include, inactive, trail)).values()) add(into, one)
    for (const exclude of (compose.exclude ?? []) as readonly Include[])
      for (const key of (await included(exclude, true, trail)).keys()) into.delete(key)
    return into
  }

  /** The expansion a value set brings along, when it is all of it. */
  const given = (expansion: Json | undefined): Expansion | undefined => {
    if (expansion === undefined || expansion.offset !== undefined) return undefined
    const into = new Map<string, ExpandedCode>()
    let count = 0
    const read = (list: unknown): void => {
      for (const { system, code, display, abstract, contains } of (Array.isArray(list) ? list : []) as any[]) {
        count += 1
        if (typeof code === 'string' && abstract !== true) add(into, { system: system ?? '', code, display })
        read(contains)
      }
    }
    read(expansion.contains)
    return typeof expansion.total === 'number' && expansion.total > count ? undefined : into
  }

  /** Undefined when there is no such value set. Throws Unexpandable, and 400 for one that is too large. */
  const expand = async (canonical: string, trail: readonly string[] = []): Promise<Expansion | undefined> => {
    if (trail.includes(canonical) || trail.length > MOST_LEVELS)
      throw new Unexpandable('it includes itself, or is nested too deeply')
    const valueSet = await find.valueSet(canonical)
    return valueSet === undefined ? undefined : expandResource(valueSet, canonical, trail)
  }

  /** `canonical` is what it is called, for messages and circles. */
  const expandResource = async (
    valueSet: Json,
    canonical: string,
    trail: readonly string[] = [],
  ): Promise<Expansion> => {
    const brought = given(valueSet.expansion as Json | undefined)
    if (valueSet.compose === undefined) {
      if (brought === undefined) throw new Unexpandable(`${canonical} says neither what it is made of nor its codes`)
      return brought
    }
    try {
      return await composed(valueSet.compose as Json, [...trail, canonical])
    } catch (error) {
      if (!(error instanceof Unexpandable || error instanceof Unfiltered)) throw error
      if (brought !== undefined) return brought
      throw new Unexpandable(error.message)
    }
  }
  return { expand, expandResource }
}
