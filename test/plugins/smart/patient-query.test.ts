/** What a text in the search of the patient picker is taken for. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { patientQuery } from '../../../plugins/smart/interaction/search-page.ts'

for (const [text, query] of [
  ['', ''],
  ['1970-12-31', 'birthdate=1970-12-31'],
  ['1970', 'birthdate=1970'],
  ['A-4711', 'identifier=A-4711'],
  ['943 476 5919', 'identifier=943%20476%205919'],
  ['Anna Example', 'name=Anna&name=Example'],
  ['Anna Example 2', 'name=Anna&name=Example&name=2'],
  ['a,b', 'name=a%5C%2Cb'],
] as const)
  test(`"${text}" is searched as ${query === '' ? 'nothing' : query}`, () => assert.is(patientQuery(text), query))

test.run()
