/** `server smart`: keys and clients of a database that no server has open, what is printed where, and the exit codes. */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createKernel } from '../../kernel/index.ts'
import audit from '../../plugins/audit/index.ts'
import smart from '../../plugins/smart/index.ts'
import { createManualClock } from '../support/manual-clock.ts'
import { basic } from '../support/server-with.ts'
import { askToken, assertionOf, DCR_TOKEN, postForm, signingKey, smartSettings } from '../support/smart-server.ts'
import { createWorld, type Ran } from '../support/world.ts'

const plugins = [...basic, smart, audit]
const PASSPHRASE = 'a passphrase for tests'

const startOn = async (path: string, own: object = {}, clock?: ReturnType<typeof createManualClock>) => {
  const lines: string[] = []
  const kernel = await createKernel({
    plugins,
    settings: { ...smartSettings({ signing_key_passphrase: PASSPHRASE, ...own }), database: { sqlite_path: path } },
    log: { stream: { write: (line: string) => void lines.push(line) }, level: 'debug' },
    ...(clock !== undefined && { clock }),
  })
  await kernel.start()
  return Object.assign(kernel, { written: lines })
}

interface Place {
  readonly path: string
  readonly folder: string
  run(args: readonly string[], options?: { passphrase?: string; isTerminal?: boolean }): Promise<Ran>
}

const inFolder = async (work: (place: Place) => Promise<void>): Promise<void> => {
  const { folder, remove } = createWorld()
  const path = join(folder, 'a.sqlite')
  try {
    await work({
      path,
      folder,
      run: (args, { passphrase = PASSPHRASE, isTerminal = false } = {}) =>
        createWorld({
          plugins,
          folder,
          argv: ['smart', ...args, '--sqlite', path],
          environment: passphrase === '' ? {} : { SERVER_SIGNING_KEY_PASSPHRASE: passphrase },
          terminal: isTerminal,
        }).run(),
    })
  } finally {
    remove()
  }
}

/** A database that a server with the passphrase has left: making its keys takes most of the time of a first start. */
const left = createWorld()
const LEFT = join(left.folder, 'left.sqlite')
test.before(async () => (await startOn(LEFT)).stop())
test.after(() => left.remove())
const copyTo = (path: string): void => copyFileSync(LEFT, path)

const linesOf = ({ stdout }: Ran): Record<string, any>[] =>
  stdout
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, any>)

test('keys are listed, and rotated by force or once clients know the next one', () =>
  inFolder(async ({ path, run }) => {
    copyTo(path)
    const before = linesOf(await run(['keys', 'list']))
    assert.equal(before.map(({ state }) => state).sort(), ['active', 'next'])
    assert.ok(before.every(({ encrypted, alg }) => encrypted === true && alg === 'RS256'))
    const early = await run(['keys', 'rotate'])
    assert.is(early.code, 1)
    assert.match(early.stderr, /Clients may not know the next key yet; rotate again in \d+ seconds/)
    const wrong = await run(['keys', 'rotate', '--force'], { passphrase: 'another passphrase' })
    assert.is(wrong.code, 1)
    assert.match(wrong.stderr, /cannot be read: SERVER_SIGNING_KEY_PASSPHRASE is not the passphrase/)
    const none = await run(['keys', 'rotate', '--force'], { passphrase: '' })
    assert.is(none.code, 1)
    assert.match(none.stderr, /is encrypted; set SERVER_SIGNING_KEY_PASSPHRASE/)
    assert.equal(linesOf(await run(['keys', 'list'])), before)

    const rotated = await run(['keys', 'rotate', '--force'])
    assert.is(rotated.code, 0, rotated.stderr)
    const stateOf = (state: string, of: Record<string, any>[]) => of.find((one) => one.state === state)?.kid
    const after = linesOf(await run(['keys', 'list']))
    assert.is(stateOf('active', after), stateOf('next', before))
    assert.is(stateOf('retired', after), stateOf('active', before))
    const kernel = await startOn(path)
    const jwks = (await kernel.inject('/oauth/jwks')).json() as { keys: { kid: string }[] }
    assert.equal(jwks.keys.map(({ kid }) => kid).sort(), after.map(({ kid }) => kid).sort())
    await kernel.stop()
  }))

test('a backend service is added and disabled, and the trail of the next server has both', () =>
  inFolder(async ({ path, folder, run }) => {
    copyTo(path)
    const key = await signingKey()
    const file = join(folder, 'keys.json')
    writeFileSync(file, JSON.stringify({ keys: [key.jwk] }))
    const added = await run(['clients', 'add', '--name', 'Night job', '--scope', 'system/*.cruds', '--jwks', file])
    assert.is(added.code, 0, added.stderr)
    const id = linesOf(added)[0]?.client_id as string
    const clock = createManualClock(Date.now())
    let kernel = await startOn(path, {}, clock)
    const assertion = await assertionOf({ id, key }, { now: clock.now() })
    const answer = await askToken(kernel as never, assertion, { scope: 'system/*.rs' })
    assert.is(answer.statusCode, 200, answer.body)
    const headers = { authorization: `Bearer ${answer.json().access_token}` }
    await clock.advance(60_000)
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
    const trail = await kernel.inject({ url: '/_audit?_count=100', headers })
    assert.match(trail.body, '"code":"client-add"')
    assert.match(trail.body, id)
    const busy = await run(['clients', 'disable', id])
    assert.is(busy.code, 1)
    assert.match(busy.stderr, /another process has .* open; stop that server first/)
    assert.is(linesOf(await run(['clients', 'list']))[0]?.client_id, id, 'a list needs no server to stop')
    await kernel.stop()

    assert.is((await run(['clients', 'disable', id])).code, 0)
    assert.ok(linesOf(await run(['clients', 'list']))[0]?.disabled !== undefined)
    kernel = await startOn(path, {}, clock)
    assert.is((await kernel.inject({ url: '/Patient', headers })).statusCode, 401, 'its tokens end with it')
    const again = await askToken(kernel as never, await assertionOf({ id, key }, { now: clock.now() }))
    assert.is(again.json().error, 'invalid_client')
    await kernel.stop()
  }))

test('a secret is shown on a terminal alone, once, and stored nowhere', () =>
  inFolder(async ({ path, run }) => {
    copyTo(path)
    const args = ['clients', 'add', '--redirect-uri', 'https://app.example.org/cb']
    const piped = await run(args)
    assert.is(piped.code, 1)
    assert.match(piped.stderr, /shown on a terminal only/)
    assert.equal(linesOf(await run(['clients', 'list'])), [])
    const { code, stdout, stderr } = await run(args, { isTerminal: true })
    assert.is(code, 0, stderr)
    const secret = /shown once: ([\w-]{43})\n/.exec(stderr)?.[1] as string
    assert.not.match(stdout, secret)
    const kernel = await startOn(path)
    const id = linesOf(await run(['clients', 'list']))[0]?.client_id as string
    const authorization = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
    assert.is((await postForm(kernel as never, '/oauth/introspect', { token: 'x' }, { authorization })).statusCode, 200)
    await kernel.stop()
    assert.not.ok(readFileSync(path).includes(secret))
  }))

test('another passphrase, or none, stops the start', () =>
  inFolder(async ({ path }) => {
    copyTo(path)
    await assertRejects(() => startOn(path, { signing_key_passphrase: 'another passphrase' }), /cannot be read/)
    await assertRejects(() => startOn(path, { signing_key_passphrase: undefined }), /is encrypted/)
    await (await startOn(path)).stop()
  }))

test('keys that lie open are told of, and sealed by the first start with a passphrase', () =>
  inFolder(async ({ path, run }) => {
    const open = await startOn(path, { signing_key_passphrase: undefined })
    assert.match(open.written.join(''), 'SERVER_SIGNING_KEY_PASSPHRASE is not set')
    const kids = (await open.inject('/oauth/jwks')).body
    await open.stop()
    assert.ok(linesOf(await run(['keys', 'list'])).every(({ encrypted }) => encrypted === false))
    const sealed = await startOn(path)
    assert.is((await sealed.inject('/oauth/jwks')).body, kids)
    await sealed.stop()
    assert.ok(linesOf(await run(['keys', 'list'])).every(({ encrypted }) => encrypted === true))
  }))

test('what makes no sense exits with 2, and a client that is not there with 1', () =>
  inFolder(async ({ path, run }) => {
    assert.is((await run(['clients', 'list'])).code, 2)
    copyTo(path)
    assert.is((await run(['keys', 'add'])).code, 2)
    assert.is((await run(['clients', 'disable'])).code, 2)
    const missing = await run(['clients', 'disable', 'nobody'])
    assert.is(missing.code, 1)
    assert.match(missing.stderr, /There is no client nobody/)
    const refused = await run(['clients', 'add', '--public', '--redirect-uri', 'http://app.example.org/cb'])
    assert.is(refused.code, 1)
    assert.match(refused.stderr, /http is allowed for the loopback address only/)
  }))

test('secrets that a start makes are shown on a terminal once, and are in no line of the log', () =>
  inFolder(async ({ path }) => {
    const told: string[] = []
    const lines: string[] = []
    const settings = { ...smartSettings(), database: { sqlite_path: path } }
    const { dcr_token: _token, confidential_secret: _secret, ...own } = settings.smart
    const kernel = await createKernel({
      plugins,
      settings: { ...settings, smart: own },
      log: { stream: { write: (line: string) => void lines.push(line) }, level: 'trace' },
      tellOperator: (line) => void told.push(line),
    })
    await kernel.start()
    assert.is(told.length, 2)
    const secrets = told.map((line) => line.split(': ')[1] as string)
    const answer = await kernel.inject({
      method: 'POST',
      url: '/oauth/register',
      headers: { authorization: `Bearer ${secrets[0]}`, 'content-type': 'application/json' },
      payload: '{"redirect_uris":["https://app.example.org/cb"]}',
    })
    assert.is(answer.statusCode, 201, answer.body)
    await kernel.stop()
    for (const secret of secrets) {
      assert.not.match(lines.join(''), secret)
      assert.not.ok(readFileSync(path).includes(secret))
    }
    const pinned = await createKernel({
      plugins,
      settings,
      log: { level: 'silent' },
      tellOperator: (line) => void told.push(line),
    })
    await pinned.start()
    await pinned.stop()
    assert.is(told.length, 2, `what is set is not shown: ${DCR_TOKEN.length}`)
  }))

const assertRejects = async (work: () => Promise<unknown>, expected: RegExp): Promise<void> => {
  try {
    await work()
  } catch (error) {
    assert.match((error as Error).message, expected)
    return
  }
  assert.unreachable('it did not fail')
}

test.run()
