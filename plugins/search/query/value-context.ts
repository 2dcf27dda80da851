/** The context that the value of a search parameter is parsed in. */
import type { OwnUrl } from '../../../kernel/index.ts'
import type { ImpliedSystems } from '../definition/implied-systems.ts'
import type { ParameterColumn } from '../definition/parameter.ts'
import type { Hasher } from '../index/hash.ts'
import type { Expansions } from './expansions.ts'

/** What the parsing of a value needs to know of its parameter and the server. */
export interface ValueContext {
  readonly name: string
  readonly hasher: Hasher
  readonly columns: readonly ParameterColumn[]
  readonly dialect: 'sqlite' | 'postgres'
  /** Absolute references under this URL are local references. */
  readonly ownUrl: OwnUrl | undefined
  /** Milliseconds since the epoch. */
  readonly now: number
  /**
   * Resolves to true when codes that are stored without a system, and bound to one of the value sets, may belong to
   * the system.
   */
  readonly impliedSystemsOf: ImpliedSystems
  /**
   * Systems under which a code occurs, undefined when they are too many. With known systems the rows of a code are in
   * the order of their resource keys and can be sought by them.
   */
  readonly codeSystemsOf: (params: readonly number[], value: number) => Promise<readonly number[] | undefined>
  /** Codes of value sets that were expanded before. */
  readonly expansions: Expansions | undefined
}

/** A text followed by this sorts after every text that begins with it. */
export const LAST = '\u{10ffff}'

/** Column codes, each with the offset `beside` added. */
export const codesOf = (columns: readonly ParameterColumn[], beside = 0): readonly number[] =>
  columns.map(({ code }) => code + beside)
