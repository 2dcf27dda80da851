/**
 * Who may import whom, how files are called, and what only the command line may touch: CONTRIBUTING.md. Each rule reads
 * the sources, and is shown to bite on a breach that is planted beside them.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { pages, readPage } from './support/pages.ts'

interface Source {
  /** From the root, with slashes. */
  readonly path: string
  readonly text: string
}

/** A sentence for each breach. */
type Rule = (sources: readonly Source[]) => readonly string[]

const root = fileURLToPath(new URL('..', import.meta.url))
const sources: readonly Source[] = globSync('{kernel,plugins,schemas,cli,examples,test}/**/*.{ts,js}', { cwd: root })
  .map((path) => ({ path: path.replaceAll('\\', '/'), text: readFileSync(`${root}/${path}`, 'utf8') }))
  .sort((a, b) => a.path.localeCompare(b.path))

/** The lines that are code; comments stand in lines of their own or after the code. */
const codeOf = (text: string): string =>
  text
    .split('\n')
    .filter((line) => !/^\s*(\/\/|\/?\*)/.test(line))
    .map((line) => line.replace(/\s\/\/ .*$/, ''))
    .join('\n')

/** Files of ours that a file names: static and dynamic imports, import.meta.resolve, entries of workers. */
const ownImports = ({ path, text }: Source): string[] =>
  [...codeOf(text).matchAll(/(['"])(\.{1,2}\/[^'"\n]*\.[cm]?[jt]s)\1/g)].map((match) =>
    posix.join(posix.dirname(path), match[2] as string),
  )

/** The compiler checks imports; a worker's entry is a string. */
const existing: Rule = (files) =>
  files
    .filter(({ path }) => /^(kernel|plugins)\//.test(path))
    .flatMap(({ path, text }) =>
      [...codeOf(text).matchAll(/\bnew URL\([^;]*?\bimport\.meta\.url,?\s*\)|\bworkerUrl\([^)]*\)/g)]
        .flatMap(([named]) => ownImports({ path, text: named }))
        .filter((to) => !existsSync(`${root}${to}`) && !existsSync(`${root}${to.replace(/\.js$/, '.ts')}`))
        .map((to) => `${path} names ${to}, which is not there`),
    )

/** Node takes the file of a thread as a URL, which differs in the compiled program: one function makes it. */
const workers: Rule = (files) =>
  files
    .filter(({ path }) => /^(kernel|plugins|cli)\//.test(path) && path !== 'kernel/worker-url.ts')
    .filter(({ text }) => {
      const code = codeOf(text)
      if (/\bimport\.meta\.url\.endsWith\(/.test(code)) return true
      return /\bnew Worker\(/.test(code) && !isWorkerUrl(code)
    })
    .map(({ path }) => `${path} spells the URL of a thread's file itself; workerUrl of the kernel makes it`)
const isWorkerUrl = (code: string): boolean =>
  !/\bnew Worker\((?!WORKER\b)/.test(code) && /\bconst WORKER = workerUrl\(import\.meta\.url, '/.test(code)

const PACKAGE = /^(node:)?(@[\w.-]+\/)?[\w-][\w.-]*(\/[\w./-]+)?$/
const packageImports = ({ text }: Source): string[] =>
  [...codeOf(text).matchAll(/\b(?:from\s*|import\s*\(?\s*|import\.meta\.resolve\(\s*)(['"])([^'"\n]+)\1/g)]
    .map((match) => match[2] as string)
    .filter((one) => PACKAGE.test(one))

const pluginOf = (path: string): string | undefined => /^plugins\/([^/]+)\//.exec(path)?.[1]

const mayImport = (from: string, to: string): boolean => {
  const [area] = from.split('/')
  const isPublic = to === 'kernel/index.ts' || to.startsWith('schemas/')
  switch (area) {
    case 'kernel':
    case 'schemas':
      return to.startsWith(`${area}/`)
    case 'plugins': {
      const own = pluginOf(from)
      // The list of first-party plugins is what puts them together.
      if (own === undefined) return isPublic || /^plugins\/[^/]+\/index\.ts$/.test(to)
      // What a thread loads is a part of its own, where all of a service would be too much.
      return isPublic || to.startsWith(`plugins/${own}/`) || /^plugins\/[^/]+\/(thread-)?service\.ts$/.test(to)
    }
    case 'examples':
      return to === 'kernel/index.ts' || to === 'plugins/index.ts' || /^plugins\/[^/]+\/(index|service)\.ts$/.test(to)
    case 'cli':
      return !/^(test|examples)\//.test(to)
    default:
      return area === 'test'
  }
}

const imports: Rule = (files) =>
  files.flatMap((file) =>
    ownImports(file)
      .filter((to) => !mayImport(file.path, to))
      .map((to) => `${file.path} may not import ${to}`),
  )

/** Files that are loaded with a file: imports of types alone load nothing. */
const loaded = (source: Source): string[] =>
  ownImports({ ...source, text: source.text.replaceAll(/^(import|export) type [^']*'[^']*'$/gm, '') })

/** A thread is started while somebody waits for it: what each may not load, because it takes most of its start. */
const THREADS: Readonly<Record<string, readonly string[]>> = {
  'plugins/fhir/large/thread.ts': ['plugins/search/service.ts', 'plugins/storage/service.ts', 'kernel/kernel.ts'],
  'plugins/export/line-thread.ts': ['kernel/index.ts'],
  'plugins/database/sqlite/read-worker.ts': ['kernel/index.ts'],
  'plugins/audit/verify/worker.ts': ['kernel/kernel.ts'],
  'plugins/terminology/indexed/indexing-thread.ts': ['plugins/storage/service.ts', 'kernel/kernel.ts'],
  'plugins/sdc/threads/evaluation-thread.ts': ['kernel/kernel.ts'],
}
const threads: Rule = (files) => {
  const byPath = new Map(files.map((file) => [file.path, file]))
  return Object.entries(THREADS).flatMap(([thread, heavy]) => {
    const found: string[] = []
    const seen = new Set(['kernel/create-kernel.ts']) // loads what a kernel is made of when it is called
    const visit = (path: string): void => {
      const file = byPath.get(path)
      if (file === undefined || seen.has(path)) return
      seen.add(path)
      for (const to of loaded(file)) {
        if (heavy.includes(to)) found.push(`${path} loads ${to} into the thread ${thread}`)
        else visit(to)
      }
    }
    visit(thread)
    return found
  })
}

/** What lies below what, where a plugin may not import everything: of two on one floor neither knows the other. */
const FLOORS: Readonly<Record<string, number>> = {
  database: 1,
  packages: 2,
  model: 3,
  storage: 4,
  validation: 4,
  search: 5,
  fhir: 6,
}
const floorOf = (plugin: string): number => FLOORS[plugin] ?? 7
const upward: Rule = (files) =>
  files.flatMap((file) => {
    const own = pluginOf(file.path)
    if (own === undefined || FLOORS[own] === undefined) return []
    return ownImports(file)
      .filter((to) => {
        const other = pluginOf(to)
        return other !== undefined && other !== own && floorOf(other) >= floorOf(own)
      })
      .map((to) => `${file.path} imports ${to}, which does not lie below it`)
  })

/** The folders of search, each of which imports only those before it; a file beside them puts them together. */
const SEARCH = ['sql', 'definition', 'index', 'query', 'access', 'plan', 'fast']
const SEARCH_BASE = /^plugins\/search\/(errors|config)\.ts$/
const searchRank = (path: string): number => {
  if (SEARCH_BASE.test(path)) return -1
  const rank = SEARCH.indexOf(path.split('/')[2] as string)
  return rank === -1 ? SEARCH.length : rank
}
const searchFolders: Rule = (files) =>
  files
    .filter(({ path }) => pluginOf(path) === 'search')
    .flatMap((file) =>
      ownImports(file)
        .filter((to) => pluginOf(to) === 'search' && searchRank(to) > searchRank(file.path))
        .map((to) => `${file.path} imports ${to}, which comes after it`),
    )

/** Tarjan: the sets of files each of which reaches the others by imports, of types too. */
const circlesOf = (files: readonly Source[]): string[][] => {
  const graph = new Map(files.map((file) => [file.path, ownImports(file)]))
  const order = new Map<string, number>()
  const least = new Map<string, number>()
  const open: string[] = []
  const found: string[][] = []
  const lower = (path: string, to: number) => least.set(path, Math.min(least.get(path) as number, to))
  const visit = (path: string): void => {
    order.set(path, order.size)
    least.set(path, order.get(path) as number)
    open.push(path)
    for (const to of graph.get(path) as string[]) {
      if (!graph.has(to)) continue
      if (!order.has(to)) {
        visit(to)
        lower(path, least.get(to) as number)
      } else if (open.includes(to)) lower(path, order.get(to) as number)
    }
    if (least.get(path) !== order.get(path)) return
    const circle = open.splice(open.indexOf(path)).sort()
    if (circle.length > 1 || graph.get(path)?.includes(path)) found.push(circle)
  }
  for (const path of graph.keys()) if (!order.has(path)) visit(path)
  return found
}

const circles: Rule = (files) =>
  circlesOf(files.filter(({ path }) => /^(kernel|plugins|schemas)\//.test(path))).map(
    (circle) => `${circle.join(', ')} import each other`,
  )

const manifest = JSON.parse(readFileSync(`${root}/package.json`, 'utf8')) as {
  name: string
  dependencies: Record<string, string>
}
const dependencies: Rule = (files) =>
  files
    .filter(({ path }) => !path.startsWith('test/'))
    .flatMap((file) =>
      packageImports(file)
        .filter((one) => !one.startsWith('node:'))
        .map((one) => /^(@[^/]+\/)?[^/]+/.exec(one)![0])
        .filter((name) => manifest.dependencies[name] === undefined)
        .map((name) => `${file.path} imports ${name}, which is not among the dependencies`),
    )

/** Only the loader of third-party plugins imports what it is told at run time; nothing else escapes these rules. */
const computedImports: Rule = (files) =>
  files
    .filter(({ path }) => !/^test\/|^cli\/[^/]+\.js$/.test(path) && path !== 'kernel/load.ts')
    .filter(({ text }) => /\bimport\s*\(\s*[^'"\s]/.test(codeOf(text)) || /\brequire\s*\(/.test(codeOf(text)))
    .map(({ path }) => `${path} imports a module whose name is computed`)

/**
 * Files with work that a server may do that does not write otherwise, and that nothing fences: each touches rows of its own,
 * or adds to counters, in tables that are named here.
 */
const SHARED_WORK: Readonly<Record<string, string>> = {
  'plugins/audit/inbox/inbox-writer.ts': 'audit_inbox',
  'plugins/jobs/attempt.ts': 'job, and rows of the kind of job, fenced by the lease of the job',
  'plugins/jobs/commands/jobs.ts': 'job',
  'plugins/limits/account.ts': 'limits_quota',
  'plugins/limits/fold.ts': 'limits_quota',
  'plugins/limits/heartbeat.ts': 'limits_server',
  'plugins/metering/flusher.ts': 'metering_usage',
  'plugins/request-log/recorder.ts': 'request_log',
}
const sharedWork: Rule = (files) =>
  files
    .filter(({ path, text }) => PRODUCT.test(path) && /\bshared: true\b/.test(codeOf(text)))
    .filter(({ path }) => SHARED_WORK[path] === undefined)
    .map(({ path }) => `${path} does shared work and is not listed with its tables`)

const EMPTY_NAMES = /^(utils?|helpers?|managers?|types|common|misc|shared|lib)$/
const names: Rule = (files) =>
  files
    .filter(({ path }) => path.split('/').some((part) => EMPTY_NAMES.test(part.replace(/(\.test)?\.[jt]s$/, ''))))
    .map(({ path }) => `${path} is named after nothing it does`)

const CONTENTS_LINES = 60
const tablesOfContents: Rule = (files) =>
  files
    .filter(({ path }) => /^plugins\/[^/]+\/index\.ts$/.test(path))
    .filter(({ text }) => text.trimEnd().split('\n').length >= CONTENTS_LINES)
    .map(({ path }) => `${path} has ${CONTENTS_LINES} lines or more; the work lives elsewhere`)

/** Product code, whose functions and files a reader must be able to take in. */
const PRODUCT = /^(kernel|plugins|schemas|cli)\//
const FILE_LINES = 300
const FUNCTION_LINES = 120

/** The line that opens the body of a function. Its closing brace stands at the same indentation, as the formatter puts it. */
const OPENS_BODY = /(=>|\)|\): .+) \{$/
const OPENS_BLOCK = /^\s*(\} )?(if|else|for|while|do|switch|try|catch|finally)\b/
const indentOf = (line: string): number => line.search(/\S/)

/** First line, from 1, and number of lines of each body of a function. A table, `=> ({` or `= [`, has none. */
const bodiesOf = (text: string): { readonly line: number; readonly length: number }[] => {
  const lines = text.split('\n')
  const found: { line: number; length: number }[] = []
  // Bodies that are open, innermost last.
  const open: { readonly line: number; readonly indent: number }[] = []
  for (const [at, line] of lines.entries()) {
    const last = open.at(-1)
    if (last !== undefined && line.trimStart().startsWith('}') && indentOf(line) === last.indent) {
      open.pop()
      found.push({ line: last.line + 1, length: at - last.line + 1 })
    }
    if (line.endsWith(' {') && OPENS_BODY.test(line) && !OPENS_BLOCK.test(line))
      open.push({ line: at, indent: indentOf(line) })
  }
  return found
}

const sizes: Rule = (files) =>
  files
    .filter(({ path }) => PRODUCT.test(path))
    .flatMap(({ path, text }) => {
      const lines = text.trimEnd().split('\n').length
      const long = bodiesOf(text).filter(({ length }) => length > FUNCTION_LINES)
      return [
        ...(lines > FILE_LINES ? [`${path} has ${lines} lines; at most ${FILE_LINES} are allowed`] : []),
        ...long.map(
          ({ line, length }) =>
            `${path} has a function of ${length} lines at line ${line}; at most ${FUNCTION_LINES} are allowed`,
        ),
      ]
    })

/** Source of a body of so many lines in all. */
const bodyOf = (open: string, lines: number, close = '}'): string =>
  [open, ...Array.from({ length: lines - 2 }, () => '  work()'), close].join('\n')

const PROCESS =
  /\bprocess\.(argv|execArgv|env|exit|exitCode|on|once|addListener|abort|kill|stdin|stdout|stderr|chdir)\b/
const processes: Rule = (files) =>
  files
    .filter(({ path }) => !/^(cli|test)\//.test(path))
    .filter((file) => PROCESS.test(codeOf(file.text)) || packageImports(file).includes('node:process'))
    .map(({ path }) => `${path} touches arguments, environment, signals, streams or exit; only cli/ does`)

/** Threads are entered at the top of a file: what stands there lives as long as the thread, not as the process. */
const workerEntries = (files: readonly Source[]): ReadonlySet<string> =>
  new Set(
    files
      .filter(({ text }) => text.includes('new Worker('))
      .flatMap((file) => ownImports(file).filter((to) => /-worker\.[jt]s$/.test(to))),
  )
// What is declared readonly is a constant that happens to be empty.
const STATE =
  /^(export )?(let|var) |^(export )?const \w+(?![^=\n]*[Rr]eadonly)[^=\n]*= *(new (Weak)?(Map|Set)(<.*>)?\(\)|\[\]|\{\})$/m
const moduleState: Rule = (files) => {
  const entries = workerEntries(files)
  return files
    .filter(({ path }) => /^(kernel|plugins|schemas)\//.test(path) && !entries.has(path))
    .filter(({ text }) => STATE.test(codeOf(text)))
    .map(({ path }) => `${path} keeps state in the module; two kernels in one process would share it`)
}

/** Whoever reads or changes data is ruled on: a ruling that lets everything through is made by the dispatch, and by nobody else. */
const rulings: Rule = (files) =>
  files
    .filter(({ path }) => /^(plugins|examples)\//.test(path) && path !== 'plugins/fhir/dispatch.ts')
    .filter(({ text }) => /\bnew Ruling\(|\bNO_RULING\b/.test(codeOf(text)))
    .map(({ path }) => `${path} makes a ruling of its own; only the dispatch does`)

/** Rule, and the breaches it must find, each planted alone. */
const RULES: readonly (readonly [sentence: string, rule: Rule, planted: readonly Source[]])[] = [
  [
    'imports go where they may',
    imports,
    [
      { path: 'kernel/planted.ts', text: "import { Database } from '../plugins/database/service.ts'" },
      { path: 'kernel/planted.ts', text: "import type { Bundle } from '../schemas/fhir/bundle.ts'" },
      { path: 'kernel/settings/planted.ts', text: "const { run } = await import('../../cli/run.ts')" },
      { path: 'schemas/planted.ts', text: "import { Type } from '../kernel/index.ts'" },
      { path: 'plugins/probes/planted.ts', text: "import { createHooks } from '../../kernel/hooks.ts'" },
      { path: 'plugins/probes/planted.ts', text: "export * from '../database/errors.ts'" },
      {
        path: 'plugins/probes/deep/planted.ts',
        text: "import {\n  databaseSection,\n} from '../../database/config.ts'",
      },
      { path: 'plugins/probes/planted.ts', text: "await import('../fhir/index.ts')" },
      {
        path: 'plugins/probes/planted.ts',
        text: "new Worker(new URL('../database/sqlite/lane-worker.ts', import.meta.url))",
      },
      { path: 'plugins/probes/planted.ts', text: "import '../index.ts'" },
      { path: 'plugins/probes/planted.ts', text: 'import { world } from "../../cli/world.ts"' },
      { path: 'plugins/probes/planted.ts', text: "import { basic } from '../../test/support/server-with.ts'" },
      { path: 'plugins/index.ts', text: "import { openDatabase } from './database/open.ts'" },
      { path: 'cli/planted.ts', text: "import { basic } from '../test/support/server-with.ts'" },
      { path: 'cli/planted.ts', text: "import plugin from '../examples/first-plugin.ts'" },
      { path: 'examples/planted.ts', text: "import { createHooks } from '../kernel/hooks.ts'" },
      { path: 'examples/planted.ts', text: "import { run } from '../cli/run.ts'" },
      { path: 'examples/planted.ts', text: "import { openDatabase } from '../plugins/database/open.ts'" },
      { path: 'scripts/planted.ts', text: "import { Type } from '../kernel/index.ts'" },
    ],
  ],
  [
    'entries of workers exist, in the compiled program too',
    existing,
    [
      {
        path: 'plugins/database/planted.ts',
        text: "new URL(import.meta.url.endsWith('.ts') ? './open.ts' : './opened.js', import.meta.url)",
      },
      { path: 'plugins/probes/planted.ts', text: "new Worker(new URL('./gone.ts', import.meta.url))" },
      { path: 'plugins/probes/planted.ts', text: "const WORKER = workerUrl(import.meta.url, './gone.ts')" },
    ],
  ],
  [
    'threads are started with workerUrl',
    workers,
    [
      { path: 'plugins/probes/planted.ts', text: "new Worker(new URL('./routes.ts', import.meta.url))" },
      { path: 'plugins/probes/planted.ts', text: 'new Worker(import.meta.url)' },
      {
        path: 'plugins/probes/planted.ts',
        text: "const WORKER = new URL('./routes.ts', import.meta.url)\nnew Worker(WORKER)",
      },
      { path: 'cli/planted.ts', text: "const at = import.meta.url.endsWith('.ts') ? './a.ts' : './a.js'" },
    ],
  ],
  [
    'a thread loads what it needs, and no more',
    threads,
    [
      { path: 'plugins/fhir/large/thread.ts', text: "import { createPatients } from '../../search/service.ts'" },
      { path: 'plugins/fhir/large/examination.ts', text: "import { findPage } from '../../search/service.ts'" },
      { path: 'plugins/storage/version-flags.ts', text: "import { createPause } from '../../kernel/index.ts'" },
      {
        path: 'plugins/database/sqlite/without-peeking.ts',
        text: "import { createPause } from '../../../kernel/index.ts'",
      },
      { path: 'plugins/audit/batch.ts', text: "import { createKernel } from '../../kernel/kernel.ts'" },
      { path: 'plugins/terminology/code-system.ts', text: "import { newId } from '../storage/service.ts'" },
      { path: 'plugins/sdc/check/check-response.ts', text: "import { createKernel } from '../../../kernel/kernel.ts'" },
    ],
  ],
  [
    'imports go down',
    upward,
    [
      { path: 'plugins/database/planted.ts', text: "import { Definitions } from '../packages/service.ts'" },
      { path: 'plugins/model/planted.ts', text: "import type { StoredVersion } from '../storage/version.ts'" },
      { path: 'plugins/storage/deep/planted.ts', text: "import { Validator } from '../../validation/service.ts'" },
      { path: 'plugins/search/planted.ts', text: "import { Fhir } from '../fhir/service.ts'" },
      { path: 'plugins/fhir/planted.ts', text: "import { Terminology } from '../terminology/service.ts'" },
    ],
  ],
  [
    'folders of search import those before them: sql, definition, index, query, access, plan, fast',
    searchFolders,
    [
      { path: 'plugins/search/sql/planted.ts', text: "import { isObject } from '../definition/kind.ts'" },
      { path: 'plugins/search/definition/planted.ts', text: "import { sortKeys } from '../query/sort-keys.ts'" },
      {
        path: 'plugins/search/index/convert/planted.ts',
        text: "import type { Criteria } from '../../query/criteria.ts'",
      },
      { path: 'plugins/search/query/planted.ts', text: "import type { Search } from '../open-search.ts'" },
      { path: 'plugins/search/plan/planted.ts', text: "const { findFast } = await import('../fast/find-fast.ts')" },
    ],
  ],
  [
    'no files import each other in a circle, not even for a type',
    circles,
    [
      { path: 'kernel/hooks.ts', text: "import { createKernel } from './kernel.ts'" },
      { path: 'plugins/database/contract.ts', text: "import type { Database } from './service.ts'" },
      { path: 'plugins/database/sqlite/read-worker.ts', text: "import type { ReadWorkers } from './read-workers.ts'" },
      { path: 'plugins/validation/config.ts', text: "await import('./service.ts')" },
      { path: 'plugins/packages/version.ts', text: "import { x } from './version.ts'" },
    ],
  ],
  [
    'what is published imports its dependencies only, and itself by no other name',
    dependencies,
    [
      { path: 'kernel/planted.ts', text: "import { test } from 'uvu'" },
      { path: 'plugins/probes/planted.ts', text: "const { default: autocannon } = await import('autocannon')" },
      { path: 'cli/planted.ts', text: "import lightMyRequest from 'light-my-request'" },
      { path: 'examples/planted.ts', text: `import { definePlugin } from '${manifest.name}'` },
    ],
  ],
  [
    'no module is imported by a computed name, but by the loader of plugins',
    computedImports,
    [
      { path: 'plugins/probes/planted.ts', text: 'const one = await import(`../fhir/index.ts`)' },
      { path: 'kernel/planted.ts', text: 'await import(name)' },
      { path: 'cli/planted.ts', text: "createRequire(import.meta.url); require('./world.ts')" },
    ],
  ],
  [
    'only listed files do work that every server may do',
    sharedWork,
    [
      { path: 'plugins/fhir/planted.ts', text: 'database.transact(work, { shared: true })' },
      { path: 'plugins/smart/planted.ts', text: 'const ANYWHERE = { asynchronousCommit: true, shared: true }' },
    ],
  ],
  [
    'a file is named after what it exports',
    names,
    [
      { path: 'kernel/utils.ts', text: '' },
      { path: 'plugins/fhir/helpers.ts', text: '' },
      { path: 'plugins/storage/types.ts', text: '' },
      { path: 'plugins/smart/manager.ts', text: '' },
      { path: 'plugins/fhir/utils/date.ts', text: '' },
      { path: 'test/support/helpers.ts', text: '' },
      { path: 'test/kernel/helpers.test.ts', text: '' },
    ],
  ],
  [
    "a plugin's index.ts is a table of contents",
    tablesOfContents,
    [{ path: 'plugins/probes/index.ts', text: '// work\n'.repeat(CONTENTS_LINES) }],
  ],
  [
    'no file has more than 300 lines, and no function more than 120',
    sizes,
    [
      { path: 'kernel/planted.ts', text: '// work\n'.repeat(FILE_LINES + 1) },
      { path: 'cli/planted.ts', text: bodyOf('export const run = async (): Promise<void> => {', FUNCTION_LINES + 1) },
      { path: 'plugins/probes/planted.ts', text: bodyOf('export const create = ({\n  a,\n}: Parts): Made => {', 121) },
      { path: 'plugins/probes/planted.ts', text: bodyOf('function run(): void {', 121) },
      { path: 'plugins/probes/planted.ts', text: bodyOf('export const run = (): {\n  a: 1\n} => {', 121) },
      { path: 'plugins/probes/planted.ts', text: bodyOf('taps.write.tap((write) => {', 121, '})') },
      { path: 'plugins/probes/planted.ts', text: `class Made {\n${bodyOf('  make(): void {', 121, '  }')}\n}` },
      // One after another: what is closed counts no more.
      {
        path: 'plugins/probes/planted.ts',
        text: `${bodyOf('const a = () => {', 120)}\n${bodyOf('const b = () => {', 121)}`,
      },
    ],
  ],
  [
    'only the command line touches arguments, environment, signals and exit',
    processes,
    [
      { path: 'kernel/planted.ts', text: 'const port = process.env.PORT' },
      { path: 'plugins/probes/planted.ts', text: "process.on('SIGTERM', () => undefined)" },
      { path: 'plugins/probes/planted.ts', text: 'if (broken) process.exit(1)' },
      { path: 'examples/planted.ts', text: 'const [, , name] = process.argv' },
      { path: 'kernel/planted.ts', text: "import { env } from 'node:process'" },
      { path: 'schemas/planted.ts', text: "const { argv } = await import('node:process')" },
    ],
  ],
  [
    'only the dispatch makes rulings',
    rulings,
    [
      { path: 'plugins/fhir/session/planted.ts', text: 'const open = new Ruling()' },
      { path: 'plugins/jobs/planted.ts', text: "import { NO_RULING } from './x.ts'" },
      { path: 'examples/planted.ts', text: 'read(new Ruling())' },
    ],
  ],
  [
    'no module keeps state',
    moduleState,
    [
      { path: 'kernel/planted.ts', text: 'let count = 0' },
      { path: 'kernel/planted.ts', text: 'export let current: Kernel | undefined' },
      { path: 'plugins/fhir/planted.ts', text: 'var last' },
      { path: 'plugins/fhir/planted.ts', text: 'const cache = new Map<string, number>()' },
      { path: 'plugins/fhir/planted.ts', text: 'const seen: WeakSet<object> = new WeakSet()' },
      { path: 'plugins/fhir/planted.ts', text: 'export const waiting: string[] = []' },
      // A name alone makes no worker.
      { path: 'plugins/fhir/planted-worker.ts', text: 'let handle' },
    ],
  ],
]

for (const [sentence, rule, planted] of RULES) {
  test(sentence, () => {
    assert.equal(rule(sources), [])
  })
  test(`${sentence}: each breach is found`, () => {
    for (const breach of planted) {
      const others = sources.filter(({ path }) => path !== breach.path)
      const found = rule([...others, breach])
      assert.is(found.length, 1, `${breach.path}: ${breach.text.slice(0, 100)}`)
      assert.match(found[0]!, breach.path)
    }
  })
}

test('what is allowed is not refused', () => {
  const allowed: readonly Source[] = [
    {
      path: 'kernel/fine.ts',
      text: "import { hooks } from './hooks.ts'\nimport pino from 'pino'\nconst NAMES = new Set(['a'])",
    },
    {
      path: 'plugins/probes/fine.ts',
      text: "import { Database } from '../database/service.ts'\nimport { x } from './routes.ts'",
    },
    {
      path: 'plugins/probes/deep/fine.ts',
      text: "import { Type } from '../../../kernel/index.ts'\nimport { y } from '../routes.ts'",
    },
    { path: 'plugins/probes/fine.ts', text: "import { Bundle } from '../../schemas/fhir/bundle.ts'" },
    {
      path: 'plugins/probes/fine.ts',
      text: " * import { run } from '../../cli/run.ts'\n// process.env\nprocess.nextTick(go)",
    },
    { path: 'plugins/probes/fine.ts', text: 'const make = () => {\n  let inside = 0\n  const list = []\n}' },
    { path: 'cli/fine.ts', text: "import { decode } from '../kernel/settings/decode.ts'\nprocess.exitCode = 1" },
    { path: 'examples/fine.ts', text: "import database from '../plugins/database/index.ts'" },
    { path: 'plugins/probes/fine.ts', text: bodyOf('export const run = (): void => {', FUNCTION_LINES) },
    { path: 'plugins/probes/fine.ts', text: bodyOf('export const table = () => ({', 200, '})') },
    { path: 'plugins/probes/fine.ts', text: bodyOf('const TABLE: Readonly<Record<string, number>> = {', 200) },
    { path: 'plugins/packages/definition-types.ts', text: '' },
  ]
  for (const one of allowed) for (const [, rule] of RULES) assert.equal(rule([one]), [], one.text)
})

test('the entry of a worker may keep what its thread needs', () => {
  const starter = {
    path: 'plugins/fhir/start.ts',
    text: "const WORKER = new URL('./index-worker.ts', import.meta.url)\nconst start = () => new Worker(WORKER)",
  }
  const entry = { path: 'plugins/fhir/index-worker.ts', text: 'let handle' }
  assert.equal(moduleState([starter, entry]), [])
  assert.is(moduleState([entry]).length, 1)
  // It is bound by all other rules.
  assert.is(imports([starter, { ...entry, text: "import { run } from '../../cli/run.ts'" }]).length, 1)
})

test('files that documents name are there', () => {
  const named = pages.flatMap((document) =>
    [...readPage(document).matchAll(/`([\w.-]+(?:\/[\w.-]+)+\.ts)`/g)].map(
      ([, path]) => [document, path as string] as const,
    ),
  )
  const isThere = (document: string, path: string): boolean =>
    existsSync(`${root}${path}`) || existsSync(`${root}${posix.join(posix.dirname(document), path)}`)
  assert.equal(
    named.filter(([document, path]) => !isThere(document, path)),
    [],
  )
  assert.ok(named.length > 40)
})

test('the sources were read', () => {
  for (const area of ['kernel', 'plugins', 'cli', 'examples', 'test'])
    assert.ok(
      sources.some(({ path }) => path.startsWith(`${area}/`)),
      area,
    )
  const kernel = sources.find(({ path }) => path === 'kernel/kernel.ts')!
  assert.ok(ownImports(kernel).includes('kernel/settings/decode.ts'))
  assert.ok(packageImports(sources.find(({ path }) => path === 'kernel/hooks.ts')!).includes('tapable'))
})

test.run()
