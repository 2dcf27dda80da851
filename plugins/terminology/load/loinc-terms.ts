/**
 * The terms of a release of LOINC, and those that its other files name. Files of one release name terms that are in its table, so
 * a table that lacks many of them was cut off, or is of another release.
 */
import { counted } from '../../../kernel/index.ts'
import { ReleaseLine } from '../errors.ts'
import type { ReleaseFile } from './release-files.ts'

/** Of so many terms that are named, one may be missing. */
const ONE_OF = 100

interface Place {
  readonly file: ReleaseFile
  readonly line: number
}

export interface LoincTerms {
  add(code: string): void
  /** Whether a term that a row names is in the table. */
  has(code: string, place: Place): boolean
  /** What is said of terms that are missing. Throws `ReleaseLine` where there are too many. */
  notes(): readonly string[]
}

export const createLoincTerms = (): LoincTerms => {
  const known = new Set<string>()
  const named = new Set<string>()
  const missing = new Map<string, Place>()
  return {
    add: (code) => void known.add(code),
    has(code, place) {
      named.add(code)
      if (known.has(code)) return true
      if (!missing.has(code)) missing.set(code, place)
      return false
    },
    notes() {
      const [first] = missing
      if (first === undefined) return []
      const [code, { file, line }] = first
      if (missing.size * ONE_OF > named.size)
        throw ReleaseLine(
          file.label,
          line,
          `the release is not whole: ${code} is no term of its table, and the table lacks ${missing.size} of ${counted(named.size, 'term')} that other files name`,
        )
      return [
        `${counted(missing.size, 'term')} that other files name, such as ${code}, and the table of terms does not have, left out`,
      ]
    },
  }
}
