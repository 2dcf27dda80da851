/** What a change means to a query, and the part of its message that all queries share. */
import type { Versions } from './change-source.ts'

export type Kind = 'enter' | 'change' | 'leave'

/** Undefined where a client has nothing to do. */
export const kindOf = (wasIn: boolean, isIn: boolean): Kind | undefined =>
  wasIn ? (isIn ? 'change' : 'leave') : isIn ? 'enter' : undefined

/** One line of JSON: between tokens a line end is only white space, and inside strings there is none. */
export const toLine = (json: string): string => (/[\r\n]/.test(json) ? json.replaceAll(/[\r\n]+/g, ' ') : json)

/** The part that all deltas about one change of a resource share. */
export interface ResourceDelta {
  readonly type: string
  readonly id: string
  readonly version: number
  /** The members of a delta behind `at`, and the closing brace, in UTF-8. */
  rest(kind: Kind): Buffer
  /** The patients whose data it is, for the audit trail; computed once. */
  patients(): readonly string[]
}

export type PatientsOf = (versions: Versions) => readonly string[]

/** `json`: undefined for a deletion. */
export const toResourceDelta = (
  { type, id, version }: { readonly type: string; readonly id: string; readonly version: number },
  json: () => string | undefined,
  patients: () => readonly string[],
): ResourceDelta => {
  const encoded: Partial<Record<Kind, Buffer>> = {}
  let found: readonly string[] | undefined
  const make = (kind: Kind): string => {
    const head = `,"kind":"${kind}","reference":"${type}/${id}","version":${version}`
    const content = kind === 'leave' ? undefined : json()
    return content === undefined ? `${head}}` : `${head},"resource":${toLine(content)}}`
  }
  return {
    type,
    id,
    version,
    rest(kind) {
      encoded[kind] ??= Buffer.from(make(kind))
      return encoded[kind]
    },
    patients() {
      found ??= patients()
      return found
    },
  }
}
