/** `:in`, `:not-in`, `:above` and `:below` on codes, through whoever provides a terminology. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { type Code, Terminology } from '../../../plugins/terminology/service.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

const code = (one: string): Code => ({ system: 'http://s', code: one })
const BELOW: Record<string, readonly Code[]> = { root: ['root', 'left', 'right'].map(code), left: [code('left')] }
const terminology = definePlugin({
  name: 'two-codes',
  provides: [Terminology],
  setup({ provide }) {
    provide(Terminology, {
      expand: async (valueSet) => (valueSet === 'http://vs/lr' ? [code('left'), code('right')] : undefined),
      related: async ({ system, code: one }, direction) =>
        system !== 'http://s' ? undefined : direction === 'below' ? BELOW[one] : [code(one), code('root')],
      edition: () => 0,
    })
  },
})

test('codes are expanded by the terminology, and what it does not know is 400', async () => {
  const server = await serverWith({
    plugins: [database, stubDefinitions('all'), ...fhirPlugins, terminology],
    settings: { conformance: { update_as_create: true } },
  })
  try {
    for (const one of ['root', 'left', 'right', 'other'])
      await server.inject({
        method: 'PUT',
        url: `/Condition/${one}`,
        headers: { 'content-type': 'application/fhir+json' },
        payload: JSON.stringify({
          resourceType: 'Condition',
          id: one,
          subject: { reference: 'Patient/1' },
          code: { coding: [code(one)] },
        }),
      })
    const find = async (query: string): Promise<string> => {
      const answer = await server.inject(`/Condition?${query}`)
      assert.is(answer.statusCode, 200, answer.body)
      return (answer.json().entry ?? [])
        .map((entry: any) => entry.resource.id)
        .sort()
        .join(' ')
    }
    assert.is(await find('code:in=http://vs/lr'), 'left right')
    assert.is(await find('code:not-in=http://vs/lr'), 'other root')
    assert.is(await find('code:below=http://s%7Croot'), 'left right root')
    assert.is(await find('code:below=http://s%7Cleft'), 'left')
    assert.is(await find('code:above=http://s%7Cleft'), 'left root')
    for (const bad of ['code:in=http://vs/unknown', 'code:below=http://x%7Croot', 'code:below=root'])
      assert.is((await server.inject(`/Condition?${bad}`)).statusCode, 400, bad)
  } finally {
    await server.stop()
  }
})

test.run()
