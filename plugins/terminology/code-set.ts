/**
 * The codes of a value set: those that were listed or come from code systems in memory, and of each code system of the index
 * the places of the codes, without their concepts.
 */
import type { MaybePromise } from '../database/service.ts'
import { type CodeVersion, type ExpandedCode, ExpandedCodes, isMeant, isSame } from './expanded-codes.ts'
import { type ExpansionPage, expansionPage, type PageAsked } from './expansion-page.ts'
import { type IndexedPart, toExpanded } from './indexed-part.ts'
import { NeedsMemory } from './needs-memory.ts'
import type { PlaceSet } from './place-set.ts'

interface Code {
  readonly system: string
  readonly code: string
}

export interface Expansion {
  /** Number of codes, each version of a code counted. */
  readonly size: number
  /** What it takes of the memory for expansions: about the number of codes that are in memory. */
  readonly weight: number
  /**
   * Code systems of which only a fragment is here, so that codes may be missing: `any` other code of it is in the value set,
   * or `some` are.
   */
  readonly open: ReadonlyMap<string, 'any' | 'some'>
  /** All versions of a code, compared without case where its system is not case-sensitive. */
  find(system: string, code: string): MaybePromise<readonly ExpandedCode[]>
  /** Each code once, without regard to versions. Undefined where there are more than `most`. */
  distinct(most: number): MaybePromise<readonly Code[] | undefined>
  /** Codes in the order of the value set, those of the index behind the others. Throws 400 for too many. */
  page(asked: PageAsked): Promise<ExpansionPage>
}

/** For two entries of one code. */
type Compare = (one: CodeVersion, other: CodeVersion) => boolean

export class CodeSet implements Expansion {
  readonly listed: ExpandedCodes
  readonly #parts: IndexedPart[]

  constructor(listed = new ExpandedCodes(), parts: readonly IndexedPart[] = []) {
    this.listed = listed
    this.#parts = [...parts]
  }

  get size(): number {
    return this.#parts.reduce((sum, { places }) => sum + places.count, this.listed.size)
  }

  get weight(): number {
    // A code in memory takes some 100 bytes.
    return this.#parts.reduce((sum, { places }) => sum + 1 + places.weight / 100, this.listed.size)
  }

  get open(): ReadonlyMap<string, 'any' | 'some'> {
    return this.listed.open
  }

  find(system: string, code: string): MaybePromise<readonly ExpandedCode[]> {
    const listed = this.listed.find(system, code)
    const parts = this.#parts.filter(({ common }) => common.system === system)
    return parts.length === 0 ? listed : this.#findIn(parts, code, listed)
  }

  async #findIn(
    parts: readonly IndexedPart[],
    code: string,
    listed: readonly ExpandedCode[],
  ): Promise<readonly ExpandedCode[]> {
    const found = [...listed]
    for (const part of parts) {
      const concept = await part.source.find(code)
      if (concept !== undefined && part.places.has(concept.place)) found.push(toExpanded(part, concept))
    }
    return found
  }

  distinct(most: number): MaybePromise<readonly Code[] | undefined> {
    const listed = [...this.listed.distinct]
    if (this.#parts.length === 0) return listed.length > most ? undefined : listed
    const size = listed.length + Math.max(...this.#parts.map(({ places }) => places.count))
    return size > most ? undefined : this.#distinctOfAll(listed, most)
  }

  async #distinctOfAll(listed: readonly Code[], most: number): Promise<readonly Code[] | undefined> {
    const found = new Map(listed.map((one) => [`${one.system}|${one.code}`, one]))
    for (const { source, common, places } of this.#parts)
      for (const { code } of await source.at(places.slice(0, most)))
        found.set(`${common.system}|${code}`, { system: common.system, code })
    return found.size > most ? undefined : [...found.values()]
  }

  page(asked: PageAsked): Promise<ExpansionPage> {
    return expansionPage({ listed: this.listed, parts: this.#parts }, asked)
  }

  /** Adds all codes of another set; those that are there already stay unchanged. Throws 400 for too many, and NeedsMemory. */
  async addAll(other: CodeSet): Promise<void> {
    const known = await this.#among(other.listed.codes, isSame)
    this.listed.addAll(other.listed, (one) => !known.has(one))
    for (const part of other.#parts) {
      const places = part.places.copy()
      await this.#takeFrom(part, places, isSame)
      this.#parts.push({ ...part, places })
    }
  }

  /** Throws NeedsMemory. */
  async remove(others: CodeSet): Promise<void> {
    const left = await others.#among(this.listed.codes, isMeant)
    this.listed.remove(others.listed)
    if (left.size > 0) this.listed.keep((one) => !left.has(one))
    for (const part of this.#parts) await others.#takeFrom(part, part.places, isMeant)
  }

  async removeInactive(): Promise<void> {
    this.listed.keep(({ isInactive }) => !isInactive)
    for (const { source, places } of this.#parts) places.remove(await source.marked('inactive'))
  }

  /** Removes the codes that the other set does not have. Throws NeedsMemory. */
  async intersect(others: CodeSet): Promise<void> {
    const kept = await others.#among(this.listed.codes, isMeant)
    this.listed.intersect(others.listed, (one) => kept.has(one))
    for (const part of this.#parts) {
      const left = part.places.copy()
      await others.#takeFrom(part, left, isMeant)
      part.places.remove(left)
    }
  }

  /** Those of the codes that the parts have. */
  async #among(codes: Iterable<ExpandedCode>, compare: Compare): Promise<ReadonlySet<ExpandedCode>> {
    const found = new Set<ExpandedCode>()
    for (const { source, common, places } of this.#parts) {
      const asked = Array.from(codes).filter((one) => one.system === common.system && compare(common, one))
      if (asked.length === 0) continue
      const concepts = await source.findAll(asked.map(({ code }) => code))
      for (const one of asked) {
        const concept = concepts.get(one.code)
        if (concept !== undefined && places.has(concept.place)) found.add(one)
      }
    }
    return found
  }

  /** Removes from `places`, which are those of a part, what this set has. */
  async #takeFrom({ source, common }: IndexedPart, places: PlaceSet, compare: Compare): Promise<void> {
    const listed = Array.from(this.listed.codes).filter((one) => one.system === common.system && compare(common, one))
    if (listed.length > 0)
      for (const { place } of (await source.findAll(listed.map(({ code }) => code))).values()) places.delete(place)
    for (const other of this.#parts) {
      if (other.common.system !== common.system || !compare(common, other.common)) continue
      // Places in one version say nothing about another one.
      if (other.source.id !== source.id) throw new NeedsMemory()
      places.remove(other.places)
    }
  }
}
