/** A server in a process of its own, to be killed: prints its address, one line. Its arguments are sections of settings, and names of further plugins. */
import { type AnyPlugin, createKernel } from '../../kernel/index.ts'
import { basic } from './server-with.ts'

/** Loaded when they are named: most tests want none. */
const FURTHER: Readonly<Record<string, () => Promise<{ readonly default: AnyPlugin }>>> = {
  audit: () => import('../../plugins/audit/index.ts'),
  limits: () => import('../../plugins/limits/index.ts'),
  metering: () => import('../../plugins/metering/index.ts'),
}

const given = JSON.parse(process.argv[2] ?? '{}') as Record<string, unknown>
const further = await Promise.all(
  process.argv.slice(3).map((name) => {
    const load = FURTHER[name]
    if (load === undefined) throw new Error(`no further plugin is called ${name}`)
    return load()
  }),
)
const kernel = await createKernel({
  plugins: [...basic, ...further.map((one) => one.default)],
  settings: {
    server: { bind: '127.0.0.1:0' },
    conformance: { update_as_create: true },
    ...given,
  },
  log: { level: 'silent' },
})
const address = await kernel.listen()
await kernel.start()
process.stdout.write(`${address}\n`)
