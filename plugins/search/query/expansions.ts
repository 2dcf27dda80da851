/**
 * The expanded codes of one interaction. A search inside a transaction cannot call the terminology, so it takes the
 * codes that were expanded before the transaction.
 */
import type { CodeExpander } from './code-expander.ts'

export interface Expansions {
  get(key: string): readonly string[] | undefined
  set(key: string, codes: readonly string[]): void
  /** True when codes were expanded. */
  readonly hasCodes: boolean
  /** False when codes were expanded and a ValueSet or CodeSystem has changed since. */
  areCurrent(): boolean
}

export const createExpansions = (terminology: Pick<CodeExpander, 'edition'> | undefined): Expansions => {
  const known = new Map<string, readonly string[]>()
  const edition = terminology?.edition()
  return {
    get: (key) => known.get(key),
    set: (key, codes) => void known.set(key, codes),
    get hasCodes() {
      return known.size > 0
    },
    areCurrent: () => known.size === 0 || terminology?.edition() === edition,
  }
}
