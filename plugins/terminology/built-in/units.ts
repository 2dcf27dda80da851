/** UCUM: units are expressions, which the library of the National Library of Medicine reads. https://ucum.org/ucum */
import { createRequire } from 'node:module'
import type { CodeSystem } from '../code-system.ts'
import { madeSystem } from './made-system.ts'

export const UCUM = 'http://unitsofmeasure.org'

interface UnitReader {
  validateUnitString(code: string): {
    readonly status: string
    readonly ucumCode: string | null
    readonly unit?: { readonly name: unknown } | null
  }
}

export const createUnits = (): CodeSystem => {
  const load = createRequire(import.meta.url)
  const { UcumLhcUtils } = load('@lhncbc/ucum-lhc') as { UcumLhcUtils: { getInstance(): UnitReader } }
  const reader = UcumLhcUtils.getInstance()
  return madeSystem({
    url: UCUM,
    name: 'UCUM',
    isCaseSensitive: true,
    concepts: [],
    build(code) {
      // It also reads names of units, such as "meter", and says which code is meant.
      const { status, ucumCode, unit } = reader.validateUnitString(code)
      if (status !== 'valid' || ucumCode !== code) return undefined
      const name = typeof unit?.name === 'string' ? unit.name.replace(/<[^>]*>/g, '') : ''
      return { code, display: name === '' ? code : name }
    },
  })
}
