/** A server that is killed between two steps of a login: the next process on the same database goes on with it, once. */
// database: sqlite and postgres, which outlive the process
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type ClinicProcess, fillClinic, startClinic } from '../../support/clinic-processes.ts'
import { databaseKinds, type FreshDatabase } from '../../support/database-kinds.ts'
import {
  type App,
  askFor,
  bearing,
  codeOf,
  exchange,
  freshForClinic,
  refresh,
  registerApp,
  type Tokens,
  tokensOf,
} from '../../support/login-clinic.ts'
import type { AnsweringServer } from '../../support/server-with.ts'
import { askToken, assertionOf, registerService } from '../../support/smart-server.ts'
import { type BrowserPage, createTestBrowser } from '../../support/test-browser.ts'
import { until } from '../../support/until.ts'

const SCOPE = 'openid launch/patient patient/*.rs offline_access'
const [kind] = databaseKinds()

let fresh: FreshDatabase
let process: ClinicProcess
let app: App

/** Goes on to the process that runs now. */
const server: AnsweringServer = {
  inject: ((asked: never) => process.inject(asked)) as AnsweringServer['inject'],
}
const restart = async (): Promise<void> => {
  await process.kill()
  process = await startClinic(fresh)
}

test.before(async () => {
  if (kind === undefined) throw new Error('no kind of database')
  fresh = await freshForClinic(kind)
  await fillClinic(fresh)
  process = await startClinic(fresh)
  app = await registerApp(server)
})
test.after(async () => {
  await process.kill()
  await fresh.remove()
})

const read = async ({ access_token: token }: Tokens): Promise<number> =>
  (await server.inject({ url: '/Patient/p1', headers: bearing(token) })).statusCode

test('a login goes on after a restart behind each of its steps, and gives tokens once', async () => {
  const asked = askFor(app, SCOPE, { nonce: 'n-1' })
  const exchanged = async (code: string): Promise<Tokens> => {
    const answer = await exchange(server, app, code, asked.verifier)
    assert.is(answer.statusCode, 200, answer.body)
    return answer.json() as Tokens
  }
  /** The steps of one login. Each of them uses the result of the step before. */
  const login = () => {
    const browser = createTestBrowser(server)
    let page: BrowserPage
    let consent: BrowserPage
    let code = ''
    let tokens: Tokens
    return [
      async () => {
        page = await browser.open(asked.url)
        assert.match(page.url, /\/login$/)
      },
      async () => {
        page = await browser.submit(page, { username: 'Dr. Demo' })
        assert.match(page.url, /\/patient$/)
      },
      async () => {
        page = await browser.submit(page, { patient: 'p1' })
        assert.match(page.url, /\/consent$/)
        consent = page
      },
      async () => {
        code = codeOf(await browser.submit(page, { decision: 'allow' }))
      },
      async () => {
        assert.not.ok((await browser.submit(consent, { decision: 'allow' })).hasLeft, 'the consent is used')
        tokens = await exchanged(code)
        assert.is(tokens.patient, 'p1')
        const claims = JSON.parse(Buffer.from(tokens.id_token?.split('.')[1] ?? '', 'base64url').toString()) as object
        assert.is((claims as { nonce: string }).nonce, 'n-1')
      },
      async () => {
        assert.is(await read(tokens), 200)
        const again = await exchange(server, app, code, asked.verifier)
        assert.is(again.json().error, 'invalid_grant')
        assert.is(await read(tokens), 401, 'the second use ends what the first one gave')
      },
    ]
  }
  // One login stands behind each of the steps when the server is killed.
  const logins = Array.from({ length: login().length - 1 }, login)
  for (const [at, steps] of logins.entries()) for (const step of steps.slice(0, at + 1)) await step()
  await restart()
  for (const [at, steps] of logins.entries()) for (const step of steps.slice(at + 1)) await step()
})

test('a refresh token works once after a restart, and its reuse after another one ends the family', async () => {
  const first = await tokensOf(server, app, SCOPE)
  await restart()
  const answer = await refresh(server, app, first.refresh_token as string)
  assert.is(answer.statusCode, 200, answer.body)
  const second = answer.json() as Tokens
  assert.is(await read(second), 200)
  await restart()
  // For a second the server cannot tell whether the answer of the process before had arrived.
  await until(
    async () => {
      assert.is((await refresh(server, app, first.refresh_token as string)).json().error, 'invalid_grant')
      return (await read(second)) === 401
    },
    10_000,
    'the family to end',
  )
  assert.is((await refresh(server, app, second.refresh_token as string)).json().error, 'invalid_grant')
})

test('an assertion that was taken before a restart is refused after it', async () => {
  const service = await registerService(server)
  const proof = await assertionOf(service)
  assert.is((await askToken(server, proof)).statusCode, 200)
  await restart()
  const again = await askToken(server, proof)
  assert.is(again.statusCode, 401)
  assert.is(again.json().error, 'invalid_client')
})

test.run()
