/** The codes of a value set, each in every version of its code system that the value set names. */
import type { ConceptFacts, Designation } from './code-system.ts'
import type { ConceptSource } from './concept-source.ts'
import { TooManyCodes } from './errors.ts'

export interface ExpandedCode {
  readonly system: string
  /** Version of the code system; undefined where it is not known. */
  readonly version: string | undefined
  /** Whether the value set names that version. If not, it is the version that this server has. */
  readonly isPinned: boolean
  readonly code: string
  readonly display: string | undefined
  /** Language of the displays of its code system. */
  readonly language: string | undefined
  /** Designations in the value set; those of the code system are in the concept. */
  readonly designations: readonly Designation[]
  readonly isInactive: boolean
  readonly isAbstract: boolean
  /**
   * True where the value set lists the code and the complete code system does not have it. Only searches use such a
   * code.
   */
  readonly isUnknown: boolean
  /** The concept in its code system; undefined where this server does not have that. */
  readonly concept: ConceptFacts | undefined
  /** The code system that the concept is of, where its hierarchy may be asked for. */
  readonly source?: ConceptSource | undefined
}

/** A value set with more codes is not expanded for any purpose. */
export const MAX_CODES = 50_000

const codeKeyOf = (system: string, code: string): string => `${system}|${code}`

/** What decides whether two entries of one code mean the same. */
export type CodeVersion = Pick<ExpandedCode, 'version' | 'isPinned'>

/** For two entries of one code: whether both stand for the same version. */
export const isSame = (one: CodeVersion, other: CodeVersion): boolean =>
  one.version === undefined || other.version === undefined || one.version === other.version

/** Whether a value set that contains one entry contains the other: versions are compared where both name one. */
export const isMeant = (one: CodeVersion, other: CodeVersion): boolean =>
  !one.isPinned || !other.isPinned || one.version === other.version

/** Codes in memory, in the order in which they were added, versions of a code one after the other. */
export class ExpandedCodes {
  readonly #byCode = new Map<string, ExpandedCode[]>()
  /** Systems that are not case-sensitive: their codes are stored in lower case. */
  readonly #folded = new Set<string>()
  readonly #open = new Map<string, 'any' | 'some'>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** See `Expansion.open`. */
  get open(): ReadonlyMap<string, 'any' | 'some'> {
    return this.#open
  }

  get codes(): Iterable<ExpandedCode> {
    return [...this.#byCode.values()].flat()
  }

  /** Each code once, without regard to versions. */
  get distinct(): Iterable<ExpandedCode> {
    return Array.from(this.#byCode.values(), ([first]) => first as ExpandedCode)
  }

  /** All versions of a code, compared without case where its system is not case-sensitive. */
  find(system: string, code: string): readonly ExpandedCode[] {
    const found = this.#byCode.get(codeKeyOf(system, code)) ?? []
    if (!this.#folded.has(system)) return found
    const lower = code.toLowerCase()
    const others = lower === code ? [] : (this.#byCode.get(codeKeyOf(system, lower)) ?? [])
    return others.length === 0 ? found : [...found, ...others]
  }

  /** Adds a code; one that is there already stays unchanged. Throws 400 for too many codes. */
  add(one: ExpandedCode, isCaseSensitive: boolean): void {
    const { system, code } = one
    if (!isCaseSensitive) this.#folded.add(system)
    const key = codeKeyOf(system, isCaseSensitive ? code : code.toLowerCase())
    const versions = this.#byCode.get(key)
    if (versions?.some((other) => isSame(one, other)) === true) return
    if (versions === undefined) this.#byCode.set(key, [one])
    else versions.push(one)
    this.#size += 1
    if (this.#size > MAX_CODES) throw TooManyCodes(system, MAX_CODES)
  }

  /** Adds all codes of another expansion of which `isAdded` is true. */
  addAll(other: ExpandedCodes, isAdded: (one: ExpandedCode) => boolean): void {
    for (const one of other.codes) if (isAdded(one)) this.add(one, !other.#folded.has(one.system))
    for (const [system, which] of other.#open) this.leaveOpen(system, which)
  }

  leaveOpen(system: string, which: 'any' | 'some'): void {
    if (this.#open.get(system) !== 'any') this.#open.set(system, which)
  }

  remove(others: ExpandedCodes): void {
    this.keep((one) => !others.#means(one))
    // Of codes that are not here it is not known whether they were removed.
    for (const system of this.#open.keys()) if (others.#has(system)) this.#open.set(system, 'some')
  }

  /** Removes the codes that the other expansion does not have; those of which `isKept` is true stay. */
  intersect(others: ExpandedCodes, isKept: (one: ExpandedCode) => boolean): void {
    this.keep((one) => others.#means(one) || isKept(one))
    for (const system of [...this.#open.keys(), ...others.#open.keys()]) this.#open.set(system, 'some')
  }

  #has(system: string): boolean {
    return Iterator.from(this.#byCode.values()).some(([first]) => first?.system === system)
  }

  #means(one: ExpandedCode): boolean {
    return this.find(one.system, one.code).some((other) => isMeant(one, other))
  }

  keep(test: (one: ExpandedCode) => boolean): void {
    for (const [key, versions] of this.#byCode) {
      const left = versions.filter(test)
      this.#size += left.length - versions.length
      if (left.length === 0) this.#byCode.delete(key)
      else this.#byCode.set(key, left)
    }
  }
}
