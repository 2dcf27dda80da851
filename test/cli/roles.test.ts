/** What an operator reads of a role that the other settings do not fit. Spec: Cluster behavior. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { firstParty } from '../../plugins/index.ts'
import { createWorld } from '../support/world.ts'

const server = async (line: string, { environment }: { readonly environment: Readonly<Record<string, string>> }) => {
  const argv = line.split(' ').filter((word) => word !== '')
  const world = createWorld({ plugins: firstParty, argv, environment })
  try {
    return await world.run()
  } finally {
    world.remove()
  }
}

test('a server whose role its settings do not fit is refused, and says what to set', async () => {
  const [token, secret] = ['SERVER_SMART_DCR_TOKEN', 'SERVER_SMART_CONFIDENTIAL_SECRET']
  const [one, other] = ['a'.repeat(32), 'b'.repeat(32)]
  for (const [line, environment, about] of [
    ['--memory --standby', {}, '[cluster] role = "standby" does not go with [database] kind = "memory": '],
    ['--role replica', {}, '[cluster] role = "replica" does not go with [database] kind = "sqlite": '],
    [
      '--standby',
      {},
      `[cluster] role = "standby" needs the secrets that the other servers have, and dcr_token and confidential_secret of [smart] are not set: set ${token} or --smart-dcr-token, and ${secret} or --smart-confidential-secret.`,
    ],
    [
      '',
      { SERVER_ROLE: 'standby', [token]: one },
      '[cluster] role = "standby" needs the secrets that the other servers have, and confidential_secret of [smart] is not set: ',
    ],
    [
      '--postgres host=db.test --role replica',
      { [token]: one, [secret]: other },
      '[cluster] role = "replica" needs to know where it sends changes: set primary_url under [cluster]',
    ],
  ] as const) {
    const { code, stderr } = await server(`--bind 127.0.0.1:0 ${line}`, { environment })
    assert.is(code, 2, line)
    assert.ok(stderr.startsWith(`server: The plugin "cluster" cannot be set up: ${about}`), stderr)
  }
})

test.run()
