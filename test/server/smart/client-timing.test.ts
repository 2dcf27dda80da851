/** A wrong secret takes as long for a client that exists as for one that does not, so that nobody finds clients by time. */
// database: memory, where a look-up takes least, so that the rest shows most
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { basicOf, postForm, register, smartServer } from '../../support/smart-server.ts'

const ROUNDS = 5
const PAIRS = 150
const MOST = 1.25 // times as long

const median = (times: readonly number[]): number =>
  times.toSorted((one, other) => one - other)[times.length >> 1] as number

test('an unknown client and a wrong secret have the same answer in about the same time', async () => {
  const server = await smartServer({
    settings: {
      rate_limit: { auth_failures_per_minute: 100_000, anonymous_requests_per_second: 1e6, anonymous_burst: 1e6 },
    },
  })
  const { client_id: known } = (
    await register(server, {
      redirect_uris: ['https://app.example.org/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'client_secret_basic',
    })
  ).json() as { client_id: string }
  const unknown = known.replace(/[0-9a-z]/g, 'q')
  const ask = async (id: string) => {
    const began = performance.now()
    const answer = await postForm(
      server,
      '/oauth/token',
      { grant_type: 'client_credentials', scope: 'system/*.rs' },
      { authorization: basicOf(id, 'wrong') },
    )
    return { took: performance.now() - began, answer }
  }
  const [one, other] = [(await ask(known)).answer, (await ask(unknown)).answer]
  assert.is(one.statusCode, 401)
  assert.is(other.body, one.body)
  assert.is(other.headers['www-authenticate'], one.headers['www-authenticate'])
  const ratios: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const times: [number[], number[]] = [[], []]
    for (let n = 0; n < PAIRS; n += 1) {
      times[0].push((await ask(known)).took)
      times[1].push((await ask(unknown)).took)
    }
    ratios.push(median(times[0]) / median(times[1]))
  }
  // The round that is nearest to equal: what else the machine does only makes a round worse.
  const nearest = Math.min(...ratios.map((ratio) => Math.max(ratio, 1 / ratio)))
  assert.ok(nearest < MOST, `ratios ${ratios.map((ratio) => ratio.toFixed(2)).join(', ')}`)
  await server.stop()
})

test.run()
