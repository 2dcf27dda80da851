/**
 * Callers from very many addresses under quotas and limits: `npm run check:addresses -- [addresses] [connections]`. The
 * server, as it is shipped and in a process of its own, is asked once from each address; memory, rows of usage and the time
 * of a stop stay bounded. On a SQLite file.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import BetterSqlite from 'better-sqlite3'
import { load } from '../bench/client.ts'
import { createPlace } from '../bench/house.ts'
import { examplesFolder } from '../bench/plugins.ts'

const [count = 440_000, connections = 64] = process.argv.slice(2).map(Number)
const MAX_SECONDS = 400 // of asking
const MAX_ADDRESSES = 10_000 // default of [quota] most_addresses
const MAX_STOP_MS = 2_000
const MAX_GROWTH = 400 * 1024 * 1024 // bytes of memory
const PROGRAM = fileURLToPath(new URL('../../cli/main.ts', import.meta.url))

const SETTINGS = (sqlitePath: string): string => `
[server]
bind = "127.0.0.1:0"
trusted_proxy_hops = 1
trusted_proxy_peers = ["127.0.0.0/8"]
[database]
kind = "sqlite"
sqlite_path = ${JSON.stringify(sqlitePath)}
[conformance]
skip_default_packages = true
packages = [${JSON.stringify(examplesFolder)}]
[rate_limit]
requests_per_second = 50
[quota]
requests_per_day = 1000
bytes_per_month = 1000000000
`

let isWrong = false
const expect = (isSo: boolean, sentence: string): void => {
  console.log(`${isSo ? 'ok   ' : 'WRONG'} ${sentence}`)
  if (!isSo) isWrong = true
}
const megabytes = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MB`

const place = createPlace()
writeFileSync(place.path('server.toml'), SETTINGS(place.sqlitePath))
const child = spawn(process.execPath, [PROGRAM, '--config', place.path('server.toml')], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
const exited = once(child, 'exit')
try {
  /** Resident bytes, from the kernel of the machine. */
  const memory = (): number =>
    Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) * 1024
  let address = ''
  await new Promise<void>((resolve, reject) => {
    void exited.then(([code]) => reject(new Error(`the server ended with ${code}`)))
    createInterface({ input: child.stdout }).on('line', (line) => {
      address ||= /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0] ?? ''
      if (/"msg":"ready"|\bready\b/.test(line)) resolve()
    })
  })
  const before = memory()
  let most = before
  const watch = setInterval(() => {
    most = Math.max(most, memory())
  }, 500)
  let next = 0
  const statuses = new Map<number, number>()
  const { done, perSecond } = await load({
    address,
    connections,
    requests: count,
    seconds: MAX_SECONDS,
    next: () => {
      next += 1
      const from = `10.${(next >> 16) & 255}.${(next >> 8) & 255}.${next & 255}`
      return `GET /Patient/none HTTP/1.1\r\nhost: ${address.slice(7)}\r\nx-forwarded-for: ${from}\r\n\r\n`
    },
    onRefusal: (status) => void statuses.set(status, (statuses.get(status) ?? 0) + 1),
  })
  clearInterval(watch)
  const after = memory()
  const from = performance.now()
  child.kill('SIGTERM')
  const [code] = await exited
  const stopMs = performance.now() - from
  const handle = new BetterSqlite(place.sqlitePath, { readonly: true })
  const rowsOf = (table: string): number =>
    (handle.prepare(`SELECT count(*) AS n FROM ${table}`).get() as { n: number }).n
  const [quotas, usage] = [rowsOf('limits_quota'), rowsOf('metering_usage')]
  const { n: requests } = handle
    .prepare('SELECT sum(requests) AS n FROM limits_quota WHERE length(period) = 10')
    .get() as { n: number }
  handle.close()
  console.log(`${done} addresses asked, ${Math.round(perSecond)} each second`)
  expect(done >= count, `all ${count} addresses were answered within ${MAX_SECONDS} s`)
  expect([...statuses.keys()].join() === '404', `answers were ${JSON.stringify(Object.fromEntries(statuses))}`)
  expect(
    most - before <= MAX_GROWTH,
    `memory was ${megabytes(before)} before, ${megabytes(most)} at most, ${megabytes(after)} at the end`,
  )
  // Of a day and of a month, and one of each for all others.
  expect(quotas <= 2 * (MAX_ADDRESSES + 1), `${quotas} rows of quotas`)
  expect(requests === done, `they tell ${requests} requests of the day`)
  expect(usage <= 16, `${usage} rows of usage`)
  expect(code === 0 && stopMs <= MAX_STOP_MS, `SIGTERM to the end took ${Math.round(stopMs)} ms, exit code ${code}`)
} finally {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill('SIGKILL')
    await exited
  }
  place.remove()
}
process.exitCode = isWrong ? 1 : 0
