/** Expands `:in`, `:not-in`, `:above` and `:below` on tokens to lists of codes, with the terminology. */

import { SearchModifierNeeds, SearchValue } from '../errors.ts'
import type { CodeExpander } from './code-expander.ts'
import { unescapeValue } from './escape.ts'
import type { Expansions } from './expansions.ts'
import { readToken } from './lookups/token.ts'

export const MAX_EXPANDED = 5_000 // most codes of an expanded ValueSet

export const createExpand =
  (terminology: CodeExpander | undefined, isInside: boolean) =>
  /** The codes of a ValueSet, or those above or below a code, as values of a token parameter. Throws 400. */
  async (
    name: string,
    modifier: string,
    values: readonly string[],
    expansions: Expansions | undefined,
  ): Promise<readonly string[]> => {
    const key = JSON.stringify([modifier, ...values])
    const known = expansions?.get(key)
    if (known !== undefined) return known
    if (terminology === undefined)
      throw SearchModifierNeeds(
        modifier,
        name,
        isInside ? 'it cannot be asked inside a transaction' : 'this server has none',
      )
    const found: string[] = []
    for (const value of values) {
      const related = modifier === 'above' || modifier === 'below'
      const token = related ? readToken(name, value) : undefined
      if (related && (token?.system === undefined || token.system === '' || token.code === undefined))
        throw SearchValue(name, `a code with its system, which :${modifier} needs`)
      const codes =
        token === undefined
          ? await terminology.expand(unescapeValue(value), MAX_EXPANDED)
          : await terminology.related(
              { system: token.system as string, code: token.code as string },
              modifier as 'above',
              MAX_EXPANDED,
            )
      if (codes === undefined)
        throw SearchValue(
          name,
          token === undefined ? 'a ValueSet that is known here' : 'a code of a system that is known here',
        )
      for (const { system, code } of codes)
        found.push(`${system.replace(/[\\,$|]/g, '\\$&')}|${code.replace(/[\\,$|]/g, '\\$&')}`)
    }
    expansions?.set(key, found)
    return found
  }
