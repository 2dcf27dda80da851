/** Asks a server the questions, page by page, and compares each answer with what the records say. */
import type { TestServer } from '../support/server-with.ts'
import type { Question } from './questions.ts'
import { keyOf, type Resource } from './record.ts'

export interface Checked {
  readonly kind: string
  readonly asked: number
  /** Matches and included resources of all right answers. */
  readonly resources: number
  readonly milliseconds: number
  /** What was wrong, with the search that showed it. */
  readonly wrong: readonly string[]
}

const PAGE = 100

const answerOf = async (server: TestServer, url: string): Promise<{ matches: Resource[]; included: Resource[] }> => {
  const matches: Resource[] = []
  const included = new Map<string, Resource>()
  const [path = '', query = ''] = url.split('?')
  const pairs = query.split('&').filter((one) => one !== '')
  const encoded = [...pairs, `_count=${PAGE}`].map((pair) => {
    const at = pair.indexOf('=')
    return `${pair.slice(0, at)}=${encodeURIComponent(pair.slice(at + 1))}`
  })
  for (let next: string | undefined = `${path}?${encoded.join('&')}`; next !== undefined; ) {
    const answer = await server.inject(next)
    if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${answer.body.slice(0, 300)}`)
    const bundle = answer.json()
    for (const { resource, search } of bundle.entry ?? []) {
      if (search.mode === 'match') matches.push(resource)
      else included.set(keyOf(resource), resource)
    }
    const link: string | undefined = bundle.link.find((one: Resource) => one.relation === 'next')?.url
    next = link?.slice(link.indexOf('/', 8))
  }
  return { matches, included: [...included.values()] }
}

const difference = (what: string, expected: readonly Resource[], found: readonly Resource[]): string[] => {
  const [wanted, given] = [expected, found].map((list) => list.map(keyOf)) as [string[], string[]]
  const missing = wanted.filter((key) => !given.includes(key))
  const surplus = given.filter((key) => !wanted.includes(key))
  const told: string[] = []
  if (missing.length > 0) told.push(`${missing.length} ${what} missing, such as ${missing[0]}`)
  if (surplus.length > 0) told.push(`${surplus.length} ${what} too many, such as ${surplus[0]}`)
  if (new Set(given).size < given.length) told.push(`${what} given twice`)
  return told
}

const check = async (
  server: TestServer,
  { url, matches, included = [], order }: Question,
): Promise<readonly string[]> => {
  try {
    const answer = await answerOf(server, url)
    const found = [
      ...difference('matches', matches, answer.matches),
      ...difference('included resources', included, answer.included),
    ]
    const values = order === undefined ? [] : answer.matches.map(order)
    if (values.some((value, at) => at > 0 && value < (values[at - 1] as number))) found.push('the order is wrong')
    return found.map((one) => `${url}: ${one}`)
  } catch (error) {
    return [`${url}: ${(error as Error).message}`]
  }
}

export const checkQuestions = async (
  server: TestServer,
  questions: readonly Question[],
): Promise<readonly Checked[]> => {
  const checked: Checked[] = []
  for (const [kind, list] of Map.groupBy(questions, (one) => one.kind)) {
    const started = performance.now()
    const wrong: string[] = []
    for (const question of list) wrong.push(...(await check(server, question)))
    checked.push({
      kind,
      asked: list.length,
      resources: list.reduce((sum, { matches, included = [] }) => sum + matches.length + included.length, 0),
      milliseconds: performance.now() - started,
      wrong,
    })
  }
  return checked
}
