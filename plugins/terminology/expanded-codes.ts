/** The codes of a value set: each in every version of its code system that the value set names. */
import type { Concept, Designation } from './code-system.ts'
import { TooManyCodes } from './errors.ts'

export interface ExpandedCode {
  readonly system: string
  /** Of the code system; undefined where it is not known. */
  readonly version: string | undefined
  /** Whether the value set names that version. If not, it is the one that is here. */
  readonly isPinned: boolean
  readonly code: string
  readonly display: string | undefined
  /** Of the displays of its code system. */
  readonly language: string | undefined
  /** Those of the value set; the concept has its own. */
  readonly designations: readonly Designation[]
  readonly isInactive: boolean
  readonly isAbstract: boolean
  /** The value set lists it, and its code system, which is here as a whole, lacks it. Only searches go by such a code. */
  readonly isUnknown: boolean
  /** In its code system; undefined where that is not here. */
  readonly concept: Concept | undefined
}

/** No value set that stands for more is expanded, whoever asks. */
export const MAX_CODES = 50_000

const codeKeyOf = (system: string, code: string): string => `${system}|${code}`

/** Of the same system and code: whether one stands for the other. */
const isSame = (one: ExpandedCode, other: ExpandedCode): boolean =>
  one.version === undefined || other.version === undefined || one.version === other.version

/** Whether a value set that has one of them has the other: a version counts where both name one. */
const isMeant = (one: ExpandedCode, other: ExpandedCode): boolean =>
  !one.isPinned || !other.isPinned || one.version === other.version

export interface Expansion {
  /** In the order they are given, versions of a code one after the other. */
  readonly codes: Iterable<ExpandedCode>
  /** Codes, versions not counted. */
  readonly distinct: Iterable<ExpandedCode>
  readonly size: number
  /** A code in its versions, whatever its case where its system says that it does not matter. */
  find(system: string, code: string): readonly ExpandedCode[]
}

export class ExpandedCodes implements Expansion {
  readonly #byCode = new Map<string, ExpandedCode[]>()
  /** Systems in which case does not matter: their codes are kept by lower case. */
  readonly #folded = new Set<string>()
  #size = 0

  get size(): number {
    return this.#size
  }

  get codes(): Iterable<ExpandedCode> {
    return [...this.#byCode.values()].flat()
  }

  get distinct(): Iterable<ExpandedCode> {
    return Array.from(this.#byCode.values(), ([first]) => first as ExpandedCode)
  }

  find(system: string, code: string): readonly ExpandedCode[] {
    const found = this.#byCode.get(codeKeyOf(system, code)) ?? []
    if (!this.#folded.has(system)) return found
    const lower = code.toLowerCase()
    const others = lower === code ? [] : (this.#byCode.get(codeKeyOf(system, lower)) ?? [])
    return others.length === 0 ? found : [...found, ...others]
  }

  /** What is there already stays as it is. Throws 400 for too many. */
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

  /** Adds all codes of another expansion. */
  addAll(other: ExpandedCodes): void {
    for (const one of other.codes) this.add(one, !other.#folded.has(one.system))
  }

  remove(others: ExpandedCodes): void {
    this.#keep((one) => !others.#means(one))
  }

  /** Leaves what the other expansion has too. */
  intersect(others: ExpandedCodes): void {
    this.#keep((one) => others.#means(one))
  }

  #means(one: ExpandedCode): boolean {
    return this.find(one.system, one.code).some((other) => isMeant(one, other))
  }

  #keep(test: (one: ExpandedCode) => boolean): void {
    for (const [key, versions] of this.#byCode) {
      const left = versions.filter(test)
      this.#size += left.length - versions.length
      if (left.length === 0) this.#byCode.delete(key)
      else this.#byCode.set(key, left)
    }
  }
}
