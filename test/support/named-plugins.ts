/**
 * The plugins of a server by their names, beside the basic ones: for servers in processes of their own, which get names as
 * arguments, and for those of the test's process that are to have the same.
 */
import type { AnyPlugin } from '../../kernel/index.ts'
import { basic } from './server-with.ts'

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
  terminology: () => import('../../plugins/terminology/index.ts'),
  turns: () => import('./turns-plugin.ts'),
  validation: () => import('../../plugins/validation/index.ts'),
}

// Replace the small set of definitions that suffices for most tests.
const definitions = new Map<string, () => Promise<AnyPlugin>>([
  ['all-definitions', async () => (await import('./stub-definitions.ts')).stubDefinitions('all')],
  ['writers-together', async () => (await import('./writers-together.ts')).writersTogether],
  ['clinic-definitions', async () => (await import('./login-clinic.ts')).clinicDefinitions],
  ['subscription-definitions', async () => (await import('./subscription-definitions.ts')).subscriptionDefinitions],
  ['terminology-definitions', async () => (await import('./terminology-definitions.ts')).terminologyDefinitions()],
  ['search-definitions', async () => (await import('./search-definitions.ts')).searchDefinitions()],
])

export const namedPlugins = async (names: readonly string[]): Promise<readonly AnyPlugin[]> => {
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
  return [
    ...basic.map((one) => other.find(({ name }) => name === one.name) ?? one),
    ...further.map((one) => one.default),
  ]
}
