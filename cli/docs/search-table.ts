/** Tables of what can be searched for and how, made from the tables and bounds that the search uses. */

import {
  COMMON_PARAMETERS,
  MODIFIERS,
  PREFIXED,
  SORTED_BY,
  UNSUPPORTED,
} from '../../plugins/search/definition/supported.ts'
import { MAX_CONTAINED } from '../../plugins/search/index/contained/key-space.ts'
import { MAX_INCLUDED } from '../../plugins/search/plan/include-statements.ts'
import { MAX_SORTED } from '../../plugins/search/plan/sort-in-memory.ts'
import { MAX_DEPTH } from '../../plugins/search/query/chain-criteria.ts'
import { MAX_EXPANDED } from '../../plugins/search/query/expand.ts'
import { FILTER_OPERATORS } from '../../plugins/search/query/filter/compile-filter.ts'
import { MAX_FILTER_CHARS, MAX_FILTER_DEPTH, MAX_FILTER_TESTS } from '../../plugins/search/query/filter/parse-filter.ts'
import { NEAR_UNITS } from '../../plugins/search/query/lookups/near.ts'
import { PREFIXES } from '../../plugins/search/query/prefix.ts'
import { MAX_LINKED, MAX_PARAMETERS, RESULT_PARAMETERS } from '../../plugins/search/query/search-parameters.ts'
import { MAX_VALUES } from '../../plugins/search/query/values.ts'
import { MAX_CHARS, MAX_PARAMS } from '../../plugins/search/sql/statements.ts'
import { row } from './row.ts'

const code = (text: string): string => `\`${text}\``
const codes = (list: readonly string[]): string => list.map(code).join(' ')

const BOUNDS: readonly (readonly [string, number])[] = [
  ['parameters of a search', MAX_PARAMETERS],
  ['values of a parameter', MAX_VALUES],
  [
    'numbers and texts to compare in one statement; a quantity is compared in all units that its unit converts to',
    MAX_PARAMS,
  ],
  ['characters of one statement', MAX_CHARS],
  ['chains and `_has` of a search', MAX_LINKED],
  ['links of a chain or `_has`', MAX_DEPTH],
  ['characters of a `_filter`', MAX_FILTER_CHARS],
  ['tests of a `_filter`', MAX_FILTER_TESTS],
  ['levels of a `_filter`', MAX_FILTER_DEPTH],
  ['codes of a value set in `:in`', MAX_EXPANDED],
  ['matches sorted by a token or reference', MAX_SORTED],
  ['resources included on a page', MAX_INCLUDED],
  ['contained resources of a resource that are indexed', MAX_CONTAINED],
]

export const searchTable = (): string =>
  [
    row(['Type of parameter', 'Modifiers', 'Prefixes', '`_filter`', '`_sort` by its']),
    row(['---', '---', '---', '---', '---']),
    ...Object.entries(MODIFIERS).map(([type, modifiers]) =>
      row([
        type,
        codes(modifiers.map((one) => `:${one}`)),
        PREFIXED.includes(type) ? codes(PREFIXES) : '',
        codes([...(FILTER_OPERATORS[type] ?? []), 'pr']),
        SORTED_BY[type] ?? '(none)',
      ]),
    ),
    '',
    `On every type: ${COMMON_PARAMETERS.map(code).join(', ')}, \`_tag\`, \`_profile\`, \`_security\`, \`_source\`; chains such as \`subject:Patient.name\`.`,
    '',
    `Of the result: ${RESULT_PARAMETERS.map(code).join(', ')}.`,
    '',
    `\`near\` (special) takes \`latitude|longitude|distance|unit\`; units are ${Object.keys(NEAR_UNITS).map(code).join(', ')}.`,
    '',
    `Refused with 400: ${Object.keys(UNSUPPORTED).map(code).join(', ')}, and whatever is not known.`,
    '',
    row(['Bound', 'At most']),
    row(['---', '---']),
    ...BOUNDS.map(([what, most]) => row([what, most.toLocaleString('en')])),
  ].join('\n')
