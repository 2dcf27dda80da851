/**
 * A server in a process of its own, for tests that kill it. Prints one line, its address, when it is ready; with
 * `listening` among the names as soon as it listens. Arguments: sections of settings as JSON, then names of further
 * plugins. It ends at SIGTERM, and with the exit code of a failure, as `server` does.
 */
import { createKernel } from '../../kernel/index.ts'
import { namedPlugins } from './named-plugins.ts'
import { withReadyKeys } from './server-with.ts'

const given = JSON.parse(process.argv[2] ?? '{}') as Record<string, unknown>
const isEarly = process.argv.slice(3).includes('listening')
const names = process.argv.slice(3).filter((name) => name !== 'listening')
const kernel = await createKernel({
  plugins: await withReadyKeys(await namedPlugins(names)),
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
