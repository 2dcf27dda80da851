/**
 * An import in a process of its own, for tests that kill it. Arguments: sections of settings as JSON, then paths. Prints the
 * number of stored resources after each batch, and `done` with that number at the end.
 */
import { createKernel } from '../../kernel/index.ts'
import importing from '../../plugins/import/index.ts'
import { Importing } from '../../plugins/import/service.ts'
import { basic } from './server-with.ts'

const kernel = await createKernel({
  plugins: [...basic, importing],
  settings: JSON.parse(process.argv[2] ?? '{}') as Record<string, unknown>,
  log: { level: 'silent' },
})
await kernel.start()
const { resources } = await kernel
  .get(Importing)
  .run(
    { paths: process.argv.slice(3), isDryRun: false, isAgain: false, parallel: 3 },
    { progress: ({ resources }) => void process.stdout.write(`${resources}\n`) },
  )
process.stdout.write(`done ${resources}\n`)
await kernel.stop()
