/** ISO 4217: currencies in use. */
import { createRequire } from 'node:module'
import type { CodeSystem } from '../code-system.ts'
import { madeSystem } from './made-system.ts'

export const CURRENCIES = 'urn:iso:std:iso:4217'

type Currencies = readonly {
  readonly code: string
  readonly number: string
  readonly digits: number
  readonly currency: string
}[]

export const createCurrencies = (): CodeSystem => {
  const currencies = createRequire(import.meta.url)('currency-codes/data') as Currencies
  return madeSystem({
    url: CURRENCIES,
    name: 'ISO4217',
    isCaseSensitive: true,
    property: [
      { code: 'number', type: 'code' },
      { code: 'digits', type: 'integer' },
    ],
    concepts: currencies.map(({ code, number, digits, currency }) => ({
      code,
      display: currency,
      property: [
        { code: 'number', valueCode: number },
        { code: 'digits', valueInteger: digits },
      ],
    })),
  })
}
