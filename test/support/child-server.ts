/**
 * A server in a process of its own, for tests that kill it. Prints one line, its address, when it is ready; with
 * `listening` among the names as soon as it listens. Arguments: sections of settings as JSON, then names of further
 * plugins. It ends at SIGTERM, and with the exit code of a failure, as `server` does.
 */
import { type AnyPlugin, createKernel } from '../../kernel/index.ts'
import { basic, withReadyKeys } from './server-with.ts'

/** Loaded only when they are named, because most tests use none. */
const FURTHER: Readonly<Record<string, () => Promise<{ readonly default: AnyPlugin }>>> = {
  audit: () => import('../../plugins/audit/index.ts'),
  'commit-times': () => import('./commit-times.ts'),
  cors: () => import('../../plugins/cors/index.ts'),
  export: () => import('../../plugins/export/index.ts'),
  import: () => import('../../plugins/import/index.ts'),
  jobs: () => import('../../plugins/jobs/index.ts'),
  'quick-jobs': () => import('./quick-jobs.ts'),
  'slow-export': () => import('./slow-export.ts'),
  limited: () => import('./limited-plugin.ts'),
  limits: () => import('../../plugins/limits/index.ts'),
  metering: () => import('../../plugins/metering/index.ts'),
  references: () => import('../../plugins/references/index.ts'),
  smart: () => import('../../plugins/smart/index.ts'),
  subscriptions: () => import('../../plugins/subscriptions/index.ts'),
  cluster: () => import('../../plugins/cluster/index.ts'),
  'scoped-callers': async () => ({ default: (await import('./scoped-callers.ts')).scopedCallers }),
  'request-log': () => import('../../plugins/request-log/index.ts'),
  sync: () => import('../../plugins/sync/index.ts'),
  turns: () => import('./turns-plugin.ts'),
  validation: () => import('../../plugins/validation/index.ts'),
}

const given = JSON.parse(process.argv[2] ?? '{}') as Record<string, unknown>
// Replace the small set of definitions that suffices for most tests.
const definitions = new Map<string, () => Promise<AnyPlugin>>([
  ['all-definitions', async () => (await import('./stub-definitions.ts')).stubDefinitions('all')],
  ['writers-together', async () => (await import('./writers-together.ts')).writersTogether],
  ['clinic-definitions', async () => (await import('./login-clinic.ts')).clinicDefinitions],
  ['subscription-definitions', async () => (await import('./subscription-definitions.ts')).subscriptionDefinitions],
  ['search-definitions', async () => (await import('./search-definitions.ts')).searchDefinitions()],
])
const isEarly = process.argv.slice(3).includes('listening')
const names = process.argv.slice(3).filter((name) => name !== 'listening')
const other = await Promise.all(names.flatMap((name) => definitions.get(name)?.() ?? []))
const further = await Promise.all(
  names
    .filter((name) => !definitions.has(name))
    .map((name) => {
      const load = FURTHER[name]
      if (load === undefined) throw new Error(`no further plugin is called ${name}`)
      return load()
    }),
)
const kernel = await createKernel({
  plugins: await withReadyKeys([
    ...basic.map((one) => other.find(({ name }) => name === one.name) ?? one),
    ...further.map((one) => one.default),
  ]),
  settings: {
    server: { bind: '127.0.0.1:0' },
    conformance: { update_as_create: true },
    ...given,
  },
  log: { level: 'silent' },
})
const end = async (code: number): Promise<void> => {
  await kernel.stop()
  process.exit(code)
}
let isEnding = false
process.once('SIGTERM', () => {
  isEnding = true
  void end(0)
})
void kernel.failed.then(({ exitCode }) => {
  isEnding = true
  void end(exitCode)
})
const address = await kernel.listen()
const tell = (): void => void process.stdout.write(`${address}\n`)
if (isEarly) tell()
try {
  await kernel.start()
  if (!isEarly) tell()
} catch (error) {
  if (!isEnding) throw error
}
