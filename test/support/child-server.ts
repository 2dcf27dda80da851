/** A server in a process of its own, to be killed: prints its address, one line, and serves a SQLite file. */
import { createKernel } from '../../kernel/index.ts'
import { basic } from './server-with.ts'

const path = process.argv[2]
const kernel = await createKernel({
  plugins: basic,
  settings: {
    server: { bind: '127.0.0.1:0' },
    database: { kind: 'sqlite', sqlite_path: path },
    conformance: { update_as_create: true },
  },
  log: { level: 'silent' },
})
const address = await kernel.listen()
await kernel.start()
process.stdout.write(`${address}\n`)
