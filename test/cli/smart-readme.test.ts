/** The examples of plugins/smart/README.md, in their order: what is started, sent and run there works. */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { importJWK, SignJWT } from 'jose'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { clinicPlugins } from '../support/login-clinic.ts'
import { DCR_TOKEN, ISSUER, registerService, signingKey, smartServer } from '../support/smart-server.ts'
import { createWorld } from '../support/world.ts'

const README = readFileSync(new URL('../../plugins/smart/README.md', import.meta.url), 'utf8')
const blocks = (language: string): string[] =>
  [...README.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, text = '']) => text)

/** Words of a command line; quotes are single, as in the examples. */
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')

/** Sends what a curl command sends, to another address. */
const curl = async (line: string, address: string): Promise<Response> => {
  const headers = new Headers()
  let [method, body, url]: (string | undefined)[] = []
  const words = wordsOf(line).slice(1)
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    const value = (): string => words.shift() ?? ''
    if (word === '-X') method = value()
    else if (word === '-d') body = value()
    else if (word === '-u') headers.set('authorization', `Basic ${Buffer.from(value()).toString('base64')}`)
    else if (word === '-H') {
      const [name = '', ...rest] = value().split(': ')
      headers.set(name, rest.join(': '))
    } else if (word.startsWith('-')) throw new Error(`the test does not know ${word}`)
    else url = word.replace('http://127.0.0.1:8080', address)
  }
  if (body !== undefined && !headers.has('content-type'))
    headers.set('content-type', 'application/x-www-form-urlencoded')
  return fetch(url ?? '', {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers,
    ...(body !== undefined && { body }),
  })
}

test('the app on one computer: each start works, and each request is answered with 2xx in its order', async () => {
  const lines = blocks('bash').join('').trim().split('\n')
  const sessions: string[][] = []
  for (const line of lines)
    if (line.startsWith('npm start -- ')) sessions.push([line])
    else sessions.at(-1)?.push(line)
  assert.is(sessions.length, 2)
  const home = createWorld()
  const answers: Record<string, unknown>[] = []
  for (const [start = '', ...requests] of sessions) {
    const world = createWorld({
      folder: home.folder,
      argv: [...wordsOf(start).slice(3), '--bind', '127.0.0.1:0', '--sqlite', join(home.folder, 'a.sqlite')],
      environment: { SERVER_SKIP_DEFAULT_PACKAGES: 'true' },
      plugins: clinicPlugins,
      onWrite: async ({ send }, text) => {
        if (!text.includes('"ready"')) return
        const [address = ''] = /http:\/\/[^\s/"]+/.exec(text) ?? []
        for (const request of requests) {
          const answer = await curl(request, address)
          answers.push({ status: answer.status, ...((await answer.json()) as object) })
        }
        send('SIGTERM')
      },
    })
    const { code, stdout, stderr } = await world.run()
    assert.is(code, 0, stdout + stderr)
  }
  home.remove()
  assert.equal(
    answers.map(({ status }) => status),
    [201, 201, 201, 201],
    JSON.stringify(answers),
  )
  assert.type(answers[2]?.client_id, 'string')
  assert.type(answers[3]?.launch, 'string')
})

test('the app is served by the script and at the address that are named', () => {
  const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  assert.match(README, 'npm run example:smart-app')
  assert.is(scripts['example:smart-app'], 'node test/support/app-server.ts')
  assert.match(readFileSync(new URL('../support/app-server.ts', import.meta.url), 'utf8'), 'PORT = 3000')
})

test('the backend service gets a token by the lines that are shown', async () => {
  const [text = ''] = blocks('js')
  const code = text.replaceAll(/^import .*$/gm, '').replace('export const askToken =', 'return')
  const server = await smartServer()
  const key = await signingKey()
  const { id } = await registerService(server, { key, scope: 'system/Patient.rs' })
  const sent = async (url: string, { method, body }: { method: 'POST'; body: URLSearchParams }) => {
    const { origin, pathname } = new URL(url)
    assert.is(`${origin}${pathname}`, `${ISSUER}/oauth/token`)
    const headers = { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' }
    const answer = await server.inject({ method, url: '/oauth/token', headers, payload: body.toString() })
    return { json: async () => answer.json() as unknown }
  }
  const parts = { randomUUID, importJWK, SignJWT, fetch: sent }
  const askToken = new Function(...Object.keys(parts), code)(...Object.values(parts))
  const jwk = { ...key.privateKey.export({ format: 'jwk' }), kid: key.kid, alg: key.alg }
  const token = await askToken({ server: ISSUER, client: id, key: jwk, scope: 'system/Patient.rs' })
  const read = await server.inject({ url: '/Patient', headers: { authorization: `Bearer ${token}` } })
  assert.is(read.statusCode, 200, read.body)
  assert.is.not(token, DCR_TOKEN)
  await server.stop()
})

test.run()
