/** ISO 3166: countries with two letters, three letters or a number, and their subdivisions. */
import { createRequire } from 'node:module'
import type { CodeSystem } from '../code-system.ts'
import { madeSystem } from './made-system.ts'

export const COUNTRIES = 'urn:iso:std:iso:3166'
export const SUBDIVISIONS = 'urn:iso:std:iso:3166:-2'

interface Lists {
  readonly iso31661: readonly {
    readonly name: string
    readonly alpha2: string
    readonly alpha3: string
    readonly numeric: string
  }[]
  readonly iso31662: readonly { readonly code: string; readonly name: string }[]
}

const lists = (): Lists => createRequire(import.meta.url)('iso-3166') as Lists

export const createCountries = (): CodeSystem => {
  const codes = ['alpha2', 'alpha3', 'numeric'] as const
  const countries = lists().iso31661
  return madeSystem({
    url: COUNTRIES,
    name: 'ISO3166',
    isCaseSensitive: true,
    property: codes.map((code) => ({ code, type: 'code' })),
    concepts: codes.flatMap((form) =>
      countries.map((one) => ({
        code: one[form],
        display: one.name,
        property: codes.filter((other) => other !== form).map((code) => ({ code, valueCode: one[code] })),
      })),
    ),
  })
}

export const createSubdivisions = (): CodeSystem =>
  madeSystem({
    url: SUBDIVISIONS,
    name: 'ISO3166Part2',
    isCaseSensitive: true,
    concepts: lists().iso31662.map(({ code, name }) => ({ code, display: name })),
  })
