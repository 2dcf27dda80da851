/**
 * The package in a project of somebody else: installed by npm from the file that `npm pack` makes, beside TypeScript and nothing
 * else. One installation serves all tests. npm takes what it has in its cache before it asks the registry.
 */
// waits: for installations of npm
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { compilerEnvironment } from '../support/compiler-environment.ts'
import { npmCacheIn } from '../support/npm-cache.ts'
import { packOnce } from '../support/packed-package.ts'
import { smallPackage } from '../support/small-package.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const versionOf = (name: string): string =>
  JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')).version

const test = suite('a project that depends on the package')
const project = realpathSync(mkdtempSync(join(tmpdir(), 'refhir-project-')))
test.after(() => rmSync(project, { recursive: true, force: true }))

const cache = npmCacheIn(project)

/** Settings of the npm that runs the tests are not those of the project; the runtime is. */
const environment = (): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_|^SERVER_|^NODE_COMPILE_CACHE$/i.test(name)),
  ),
  ...compilerEnvironment,
  ...cache,
})

const run = async (folder: string, command: string, args: readonly string[]): Promise<string> => {
  try {
    const { stdout } = await promisify(execFile)(command, [...args], { cwd: folder, env: environment() })
    return stdout
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${command} ${args.join(' ')} failed\n${stdout}\n${stderr}`)
  }
}

test.before(async () => {
  writeFileSync(
    join(project, 'package.json'),
    '{ "name": "clinic", "version": "1.0.0", "private": true, "type": "module" }',
  )
  const tarball = await packOnce(project)
  const beside = ['typescript', '@types/node'].map((name) => `${name}@${versionOf(name)}`)
  await run(project, 'npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', tarball, ...beside])
  rmSync(join(project, 'build'), { recursive: true, force: true })
})

test('npm installs one native module, no second copy of it, and no Node.js', () => {
  const modules = join(project, 'node_modules')
  assert.equal(globSync('**/better-sqlite3/package.json', { cwd: modules }), ['better-sqlite3/package.json'])
  const native = new Set(globSync('**/*.node', { cwd: modules }).map((file) => file.split('/')[0]))
  assert.equal([...native], ['better-sqlite3'])
  assert.not.ok(existsSync(join(modules, '.bin/node')))
  for (const name of ['refhir', 'server']) assert.ok(existsSync(join(modules, '.bin', name)), name)
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { readonly dev?: boolean; readonly version?: string }>
  }
  const development = Object.keys(packages).filter((path) => packages[path]?.dev && !/typescript/.test(path))
  assert.ok(development.length > 100)
  assert.equal(
    // A path may hold another version there, which something else depends on.
    development.filter((path) => {
      const file = join(project, path, 'package.json')
      return existsSync(file) && JSON.parse(readFileSync(file, 'utf8')).version === packages[path]?.version
    }),
    [],
  )
})

test('what is packed has no tests, no sources and nothing that only a checkout uses', () => {
  const packed = join(project, 'node_modules/refhir')
  const isSource = (file: string): boolean => file.endsWith('.ts') && !file.endsWith('.d.ts')
  const sources = globSync('**/*.ts', { cwd: packed }).filter(
    (file) => isSource(file) && !/^(examples|schemas)\//.test(file),
  )
  assert.equal(sources, [])
  assert.equal(
    ['test', 'dist/test', 'dist/.built', 'cli/runtime', 'cli/quick-start.js', 'cli/prepack.js', '.npmrc'].filter(
      (path) => existsSync(join(packed, path)),
    ),
    [],
  )
  for (const file of ['LICENSE', 'README.md', 'cli/bin.js', 'cli/start.js', 'cli/healthcheck.js'])
    assert.ok(existsSync(join(packed, file)), file)
})

/** All that package.json exports, under the names that users write. */
const exported = (): readonly string[] => {
  const plugins = join(project, 'node_modules/refhir/dist/plugins')
  const within = globSync('*/{index,service}.d.ts', { cwd: plugins }).map((file) =>
    file.replace(/\/index\.d\.ts$/, '').replace(/\.d\.ts$/, ''),
  )
  return ['refhir', 'refhir/plugins', ...within.map((one) => `refhir/plugins/${one}`)]
}

test('the types of all that is exported compile in a strict project, with no other types than those of Node.js', async () => {
  const names = exported()
  assert.ok(names.length > 40, names.join(' '))
  const imports = names.map((name, at) => `import * as m${at} from '${name}'\nvoid m${at}\n`).join('')
  writeFileSync(join(project, 'all.ts'), imports)
  const options = [
    '--pretty',
    'false',
    '--checkers',
    '1',
    '--strict',
    '--noEmit',
    '--skipLibCheck',
    'false',
    '--module',
    'nodenext',
    '--target',
    'es2022',
  ]
  writeFileSync(
    join(project, 'wrong.ts'),
    "import { definePlugin } from 'refhir'\nvoid definePlugin({ name: 1, setup() {} })\n",
  )
  const compiler = join(project, 'node_modules/typescript/bin/tsc')
  // Compiled together: a program takes as long for one file as for both.
  const refused = await run(project, process.execPath, [compiler, ...options, 'all.ts', 'wrong.ts']).catch(
    (error: Error) => error.message,
  )
  assert.equal(
    refused.match(/^\S+\(\d+,\d+\): error TS\d+|^error TS\d+/gm)?.map((one) => one.replace(/,\d+/, '')),
    ['wrong.ts(2): error TS2322'],
  )
})

interface Started {
  readonly child: ChildProcess
  readonly address: string
}

/** Starts the installed program, and returns when it is ready. */
const serve = async (...args: readonly string[]): Promise<Started> => {
  const child = spawn(process.execPath, [join(project, 'node_modules/refhir/cli/bin.js'), ...args], {
    cwd: project,
    env: { ...environment(), SERVER_SKIP_DEFAULT_PACKAGES: 'true' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const errors = text(child.stderr)
  let address = ''
  for await (const line of createInterface({ input: child.stdout })) {
    const said = JSON.parse(line) as { msg: string; address?: string }
    if (said.msg === 'listening') address = said.address ?? ''
    if (said.msg === 'ready') {
      child.stdout.resume()
      return { child, address }
    }
  }
  throw new Error(`the server ended: ${await errors}`)
}

test('a plugin that is made by the installed program compiles, passes its test, and is loaded with one copy of refhir', async () => {
  await run(project, 'npx', ['--no-install', 'refhir', 'plugin', 'new', '@acme/slow-requests'])
  const folder = join(project, 'slow-requests')
  assert.match(await run(folder, 'npm', ['test']), /^(# |ℹ )pass 3$/m)
  await run(project, 'npm', ['install', '--offline', '--no-audit', '--no-fund', './slow-requests'])
  assert.equal(globSync('{node_modules,slow-requests}/**/refhir/package.json', { cwd: project }), [
    'node_modules/refhir/package.json',
  ])
  writeFileSync(
    join(project, 'server.toml'),
    '[server]\nbind = "127.0.0.1:0"\n[plugins]\nload = ["@acme/slow-requests"]\n[plugin.slow-requests]\nslow_ms = 0\n',
  )
  const { child, address } = await serve('--memory', '--package', smallPackage(join(project, 'definitions')))
  try {
    const made = await fetch(`${address}/Patient`, {
      method: 'POST',
      headers: { 'content-type': 'application/fhir+json' },
      body: '{"resourceType":"Patient","name":[{"family":"Chalmers"}]}',
    })
    assert.is(made.status, 201, await made.text())
    const found = (await (await fetch(`${address}/Patient?family=chalmers`)).json()) as { total: number }
    assert.is(found.total, 1)
    const counts = (await (await fetch(`${address}/_slow-requests`)).json()) as { requests: number }
    assert.ok(counts.requests >= 1, JSON.stringify(counts))
  } finally {
    child.kill('SIGTERM')
  }
  const [code] = await once(child, 'exit')
  assert.is(code, 0)
})

test.run()
