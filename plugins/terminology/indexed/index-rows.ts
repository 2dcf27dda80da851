/** Makes the rows of the index from concepts. They are JSON texts, so that a thread makes them and the main thread only binds them. */
import { textOfProperty } from '../code-system.ts'
import { toMatchText, toSearchedText } from '../match-text.ts'
import type { LoadedConcept } from './loaded-concept.ts'
import { HEAD } from './tables.ts'

export interface IndexRows {
  /** Number of concepts. */
  readonly count: number
  /** Each the parameter of the statement that inserts into the table; '' where there is no row. */
  readonly concepts: string
  readonly details: string
  readonly properties: string
  readonly designations: string
  readonly parents: string
}

/** The key of a code in `tx_concept`. */
export const keyOfCode = (code: string, isCaseSensitive: boolean): string =>
  isCaseSensitive ? code : code.toLowerCase()

/** The beginning of a value, as its index has it. A pair of surrogates is not divided: PostgreSQL takes no half. */
export const headOf = (value: string): string => value.slice(0, HEAD).toWellFormed()

const toText = (rows: readonly unknown[]): string => (rows.length === 0 ? '' : JSON.stringify(rows))

const bodyOf = ({ designations = [], properties = [] }: LoadedConcept): string =>
  designations.length === 0 && properties.length === 0 ? '' : JSON.stringify([designations, properties])

/** `first`: the place of the first concept. */
export const toIndexRows = (concepts: readonly LoadedConcept[], first: number, isCaseSensitive: boolean): IndexRows => {
  const properties: unknown[] = []
  const designations: unknown[] = []
  const parents: unknown[] = []
  const rows = concepts.map((one, at) => {
    const place = first + at
    const { code, display } = one
    for (const [n, { language, value }] of (one.designations ?? []).entries())
      designations.push([place, n, language?.toLowerCase() ?? '', toSearchedText(value)])
    for (const [n, parent] of (one.parents ?? []).entries()) parents.push([place, n, parent])
    const values = (one.properties ?? []).map((property) => [property.code, textOfProperty(property)] as const)
    for (const [n, [name, value]] of [...values, ...(one.filterTexts ?? [])].entries())
      properties.push([place, n, name, headOf(value), value])
    const shown = display ?? one.designations?.[0]?.value ?? ''
    return [
      place,
      code,
      keyOfCode(code, isCaseSensitive),
      display ?? null,
      toMatchText(code),
      toSearchedText(shown),
      one.isInactive === true ? 1 : 0,
      one.isAbstract === true ? 1 : 0,
    ]
  })
  return {
    count: concepts.length,
    concepts: toText(rows),
    details: toText(concepts.map((one, at) => [first + at, one.definition ?? null, bodyOf(one)])),
    properties: toText(properties),
    designations: toText(designations),
    parents: toText(parents),
  }
}
