/** Many uses at once of one code, one refresh token and one client assertion: over one server, or over several in turn. */
import {
  type App,
  askFor,
  bearing,
  codeOf,
  exchange,
  goThrough,
  refresh,
  registerApp,
  type Tokens,
  tokensOf,
} from './login-clinic.ts'
import type { AnsweringServer } from './server-with.ts'
import { askToken, assertionOf, registerService } from './smart-server.ts'
import { createTestBrowser } from './test-browser.ts'

export interface RaceResult {
  /** Successes of each round. */
  readonly codes: readonly number[]
  readonly refreshes: readonly number[]
  readonly assertions: readonly number[]
  /** Rounds in which a token lived on that should have ended: of a code that was used more than once. */
  readonly survivors: number
  /** Rounds in which tokens of a refresh were dead though nobody reused anything later. */
  readonly killed: number
  /** Answers that were neither tokens nor a refusal of what was used: invalid_grant, of an assertion invalid_client. */
  readonly faults: readonly string[]
}

type Answer = Awaited<ReturnType<typeof exchange>>

const wins = (answers: readonly Answer[]): readonly Answer[] => answers.filter(({ statusCode }) => statusCode === 200)
const faultsOf = (answers: readonly Answer[], refusal = 'invalid_grant'): string[] =>
  answers.filter(({ statusCode, body }) => statusCode !== 200 && !body.includes(`"${refusal}"`)).map(({ body }) => body)

export const raceTokens = async (
  servers: readonly AnsweringServer[],
  { rounds, at }: { readonly rounds: number; readonly at: number },
): Promise<RaceResult> => {
  const [first] = servers as readonly [AnsweringServer]
  const app: App = await registerApp(first)
  const service = await registerService(first)
  const browser = createTestBrowser(first)
  const atOnce = (work: (server: AnsweringServer) => Promise<Answer>): Promise<Answer[]> =>
    Promise.all(Array.from({ length: at }, (_, n) => work(servers[n % servers.length] as AnsweringServer)))
  const isAlive = async ({ access_token: token }: Tokens): Promise<boolean> => {
    // Asked of a server that has not cached the token.
    const { statusCode } = await first.inject({ url: '/metadata', headers: bearing(token) })
    return statusCode === 200
  }
  const codes: number[] = []
  const refreshes: number[] = []
  const assertions: number[] = []
  const faults: string[] = []
  let survivors = 0
  let killed = 0
  for (let round = 0; round < rounds; round += 1) {
    const asked = askFor(app, 'openid offline_access')
    const code = codeOf(await goThrough(browser, asked.url))
    const exchanged = await atOnce((server) => exchange(server, app, code, asked.verifier))
    codes.push(wins(exchanged).length)
    faults.push(...faultsOf(exchanged))
    for (const one of wins(exchanged)) if (await isAlive(one.json() as Tokens)) survivors += 1
    const { refresh_token: token = '' } = await tokensOf(first, app, 'openid offline_access', {}, browser)
    const refreshed = await atOnce((server) => refresh(server, app, token))
    refreshes.push(wins(refreshed).length)
    faults.push(...faultsOf(refreshed))
    for (const one of wins(refreshed)) if (!(await isAlive(one.json() as Tokens))) killed += 1
    const assertion = await assertionOf(service)
    const asserted = await atOnce((server) => askToken(server, assertion))
    assertions.push(wins(asserted).length)
    faults.push(...faultsOf(asserted, 'invalid_client'))
  }
  return { codes, refreshes, assertions, survivors, killed, faults }
}
