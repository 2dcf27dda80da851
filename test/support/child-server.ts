/** A server in a process of its own, to be killed: prints its address, one line. Its arguments are sections of settings, and names of further plugins. */
import { createKernel } from '../../kernel/index.ts'
import { firstParty } from '../../plugins/index.ts'
import { basic } from './server-with.ts'

const given = JSON.parse(process.argv[2] ?? '{}') as Record<string, unknown>
const kernel = await createKernel({
  plugins: [...basic, ...firstParty.filter(({ name }) => process.argv.slice(3).includes(name))],
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
