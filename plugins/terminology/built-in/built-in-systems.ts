/** Code systems that libraries know, by their url. Each is made when it is asked for first. */
import type { CodeSystem } from '../code-system.ts'
import { COUNTRIES, createCountries, createSubdivisions, SUBDIVISIONS } from './countries.ts'
import { CURRENCIES, createCurrencies } from './currencies.ts'
import { createLanguages, LANGUAGES } from './languages.ts'
import { createMediaTypes, MEDIA_TYPES } from './media-types.ts'
import { createUnits, UCUM } from './units.ts'

const MAKERS: ReadonlyMap<string, () => CodeSystem> = new Map([
  [UCUM, createUnits],
  [MEDIA_TYPES, createMediaTypes],
  [LANGUAGES, createLanguages],
  [COUNTRIES, createCountries],
  [SUBDIVISIONS, createSubdivisions],
  [CURRENCIES, createCurrencies],
])

export const BUILT_IN_URLS: readonly string[] = [...MAKERS.keys()]

export type BuiltInSystems = (url: string) => CodeSystem | undefined

export const createBuiltInSystems = (): BuiltInSystems => {
  const made = new Map<string, CodeSystem>()
  return (url) => {
    const known = made.get(url) ?? MAKERS.get(url)?.()
    if (known !== undefined) made.set(url, known)
    return known
  }
}
