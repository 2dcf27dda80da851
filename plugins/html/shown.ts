/** What a page is made of. */
import type { JsonAnswer } from '../../kernel/index.ts'
import type { Links } from './links.ts'
import type { Html } from './markup/html.ts'

export type Json = Readonly<Record<string, unknown>>

export interface Shown {
  readonly answer: JsonAnswer
  /** The parsed body; numbers keep their digits. */
  readonly json: Json
  readonly links: Links
  /** Path without slashes at its ends, in segments: `Patient`, `1`, `_history`. */
  readonly path: readonly string[]
  /** Names and values of the query, without `_format`. */
  readonly query: readonly (readonly [string, string])[]
}

export interface Body {
  readonly title: string
  readonly body: Html
}

export const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
export const recordsIn = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isRecord) : [])
export const textIn = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
