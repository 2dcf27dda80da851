/** What the value of a search parameter needs to know of its parameter and the server. */
import type { OwnUrl } from '../../../kernel/index.ts'
import type { ImpliedSystems } from '../definition/implied-systems.ts'
import type { ParameterColumn } from '../definition/parameter.ts'
import type { Hasher } from '../index/hash.ts'
import type { Expansions } from './expansions.ts'

/** What every value needs to know of its parameter and the server. */
export interface ValueContext {
  readonly name: string
  readonly hasher: Hasher
  readonly columns: readonly ParameterColumn[]
  readonly dialect: 'sqlite' | 'postgres'
  /** Absolute references under it are references to this server. */
  readonly ownUrl: OwnUrl | undefined
  /** Milliseconds since the epoch. */
  readonly now: number
  /** Is a system the one of codes that carry none? */
  readonly impliedSystemsOf: ImpliedSystems
  /** Systems under which a code occurs, when they are few: then rows come in order and can be sought by rid. */
  readonly codeSystemsOf: (params: readonly number[], value: number) => Promise<readonly number[] | undefined>
  /** Codes of value sets that were asked for before. */
  readonly expansions: Expansions | undefined
}

/** Behind every text that begins as it does when it is put after it. */
export const LAST = '\u{10ffff}'

/** Numbers of the columns, or of what lies `beside` them. */
export const codesOf = (columns: readonly ParameterColumn[], beside = 0): readonly number[] =>
  columns.map(({ code }) => code + beside)
