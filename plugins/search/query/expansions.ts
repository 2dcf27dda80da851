/**
 * The codes of value sets that one interaction has asked the terminology for. Inside a transaction the terminology cannot be
 * asked, so a search there takes the codes from here.
 */
import type { CodeExpander } from './code-expander.ts'

export interface Expansions {
  get(key: string): readonly string[] | undefined
  set(key: string, codes: readonly string[]): void
  /** False when codes were taken and a value set or code system has changed since. */
  areCurrent(): boolean
}

export const createExpansions = (terminology: Pick<CodeExpander, 'edition'> | undefined): Expansions => {
  const known = new Map<string, readonly string[]>()
  const edition = terminology?.edition()
  return {
    get: (key) => known.get(key),
    set: (key, codes) => void known.set(key, codes),
    areCurrent: () => known.size === 0 || terminology?.edition() === edition,
  }
}
