/** The log: one child per plugin, and no secret in any line. */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { Type } from 'typebox'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { addLines, definePlugin, type Logger } from '../../kernel/index.ts'
import { createLog } from '../../kernel/log.ts'
import { kernelWith, pluginOf } from '../support/kernel-with.ts'

const TOKEN = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJwMSJ9.c2lnbmF0dXJl'
const TICKET = 'ZG9jdG9yOnBhc3N3b3Jk'

const written = (log: (logger: Logger) => void): string => {
  let text = ''
  const { log: logger } = createLog({
    stream: {
      write: (line) => {
        JSON.parse(line) // masking leaves a line that can be read
        text += line
      },
    },
  })
  log(logger)
  return text
}

for (const [where, line] of [
  ['a request', { headers: { authorization: `Bearer ${TOKEN}` } }],
  ['an object in an object', { call: { request: { headers: { authorization: `Basic ${TICKET}` } } } }],
  ['capital letters', { headers: { Authorization: `Basic ${TICKET}`, 'Proxy-Authorization': `Basic ${TICKET}` } }],
  ['the top of the line', { cookie: `session=${TICKET}` }],
  ['several cookies', { headers: { 'set-cookie': [`a="]${TICKET}"; Path=/`, `b=${TICKET}`] } }],
  ['raw headers', { rawHeaders: ['Host', 'x', 'Authorization', `Basic ${TICKET}`, 'Cookie', `a=${TICKET}`] }],
  ['quotes in the value', { headers: { authorization: `Digest username="a", response="${TICKET}"` } }],
  ['an object that was made a string', { text: JSON.stringify({ headers: { authorization: `Basic ${TICKET}` } }) }],
  ['a session token of AWS', { headers: { 'x-amz-security-token': TICKET } }],
  ['an error', { err: new Error(`401 for Bearer ${TOKEN}`) }],
  ['a property of an error', { err: Object.assign(new Error('no'), { request: { headers: { cookie: TICKET } } }) }],
] as const)
  test(`credentials are not logged from ${where}`, () => {
    const text = written((log) => log.info(line, 'a line'))
    assert.match(text, '[secret]')
    assert.not.match(text, TICKET)
    assert.not.match(text, TOKEN)
    assert.match(text, 'a line')
  })

test('a message holds no bearer token, and ordinary words stay', () => {
  const text = written((log) => log.info(`sent Bearer ${TOKEN}; the bearer of this is Basic/b1`))
  assert.match(text, 'sent Bearer [secret]; the bearer of this is Basic/b1')
})

const shop = (setup: (log: Logger) => void) =>
  definePlugin({
    name: 'shop',
    config: {
      shop: Type.Object({
        key: Type.Optional(Type.String({ secret: true, description: 'The key.' })),
        url: Type.Optional(Type.String({ description: 'Where the database is.' })),
        city: Type.String({ default: 'Bonn', description: 'Where the shop is.' }),
      }),
    },
    setup: ({ log }) => setup(log),
  })

test('the value of a secret setting is masked in every line of every plugin, quoted or escaped', async () => {
  const key = 'a "quoted\\" key'
  const { raw } = await kernelWith(
    [
      shop((log) => {
        log.info({ where: { key } }, `opened with ${key} in Bonn`)
        log.error({ err: new Error(`refused: ${key}`) })
      }),
      pluginOf('other', ({ log }) => log.info([key, 'next'])),
    ],
    { settings: { shop: { key } } },
  )
  assert.is(raw.length, 3)
  for (const line of raw) {
    assert.match(line, '[secret]')
    assert.not.match(line, 'quoted')
  }
  assert.match(raw[0]!, 'in Bonn')
})

test('a password inside an ordinary URL setting is masked too', async () => {
  const { raw } = await kernelWith([shop((log) => log.info('cannot reach postgresql://u:hunter22@db/x'))], {
    settings: { shop: { url: 'postgresql://u:hunter22@db/x' } },
  })
  assert.not.match(raw.join(''), 'hunter22')
})

test('each plugin logs under its name', async () => {
  const { lines } = await kernelWith([
    pluginOf('one', ({ log }) => log.info('1')),
    pluginOf('two', ({ log }) => log.info('2')),
  ])
  assert.equal(
    lines.map(({ plugin, msg }) => [plugin, msg]),
    [
      ['one', '1'],
      ['two', '2'],
    ],
  )
})

test('credentials of a request are not in the line about its failure', async () => {
  const { kernel, raw } = await kernelWith([
    pluginOf('careless', ({ routes }) =>
      routes((app, _options, done) => {
        app.get('/fail', async ({ headers }) => {
          throw Object.assign(new Error('failed'), { headers })
        })
        done()
      }),
    ),
  ])
  await kernel.start()
  await kernel.inject({ url: '/fail', headers: { authorization: `Basic ${TICKET}`, cookie: `s=${TICKET}` } })
  await kernel.stop()
  const line = raw.find((one) => one.includes('failed'))!
  assert.match(line, '"authorization":"[secret]"')
  assert.not.match(raw.join(''), TICKET)
})

test('without a stream of the host lines go to standard output: all of them by the end of a stop', async () => {
  const program = `
    import { createKernel } from './kernel/index.ts'
    const kernel = await createKernel({ plugins: [] })
    await kernel.start()
    for (let n = 0; n < 1000; n += 1) kernel.log.info({ n }, 'a line')
    await kernel.stop()
  `
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = (await text(child.stdout)).trimEnd().split('\n')
  assert.equal(
    lines.map((line) => JSON.parse(line).n),
    Array.from({ length: 1000 }, (_, n) => n),
  )
})

test('lines made by hand, later, stand among the others where they were announced, and are masked', () => {
  let text = ''
  const root = createLog({ batched: true, stream: { write: (lines) => (text += lines) } })
  const waiting: string[] = []
  const announce = addLines(root.log, () => waiting.splice(0).join(''))
  const tell = (msg: string): void => {
    waiting.push(`{"msg":"${msg}"}\n`)
    announce(waiting.at(-1)!.length)
  }
  tell('one')
  tell(`two, sent Bearer ${TOKEN}`)
  root.log.info('three')
  tell('four')
  assert.is(text, '')
  root.log.warn('five') // what is no good news takes the others along
  const words = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).msg)
  assert.equal(words, ['one', 'two, sent Bearer [secret]', 'three', 'four', 'five'])
})

test('lines that plugins finish themselves are masked where none wait, also for the logger of a plugin', () => {
  let text = ''
  const root = createLog({ stream: { write: (lines) => (text += lines) } })
  root.mask(['hunter22'])
  for (const log of [root.log, root.log.child({ plugin: 'lines' })]) {
    const announce = addLines(log, () => `{"msg":"sent Bearer ${TOKEN} and hunter22"}\n`)
    announce(80)
  }
  assert.is(text, '{"msg":"sent Bearer [secret] and [secret]"}\n'.repeat(2))
})

test.run()
