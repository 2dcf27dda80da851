/** A server that says how long its main thread was busy in one turn, and what sends it large bodies. */
import { request } from 'node:http'
import * as assert from 'uvu/assert'
import { collection, type LargeBody, largeBodies } from '../../bodies/large-bodies.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { namedPlugins } from '../../support/named-plugins.ts'
import { spawnServer } from '../../support/spawn-server.ts'

export const MEGA = 1024 * 1024
export const SIZES = { bytes: 4 * MEGA, entries: 24_000 }
/**
 * Of CPU time: `npm run check:bodies` prints the figures of larger bodies on a quiet machine. Read, checked and indexed in
 * one turn most of these bodies take from 50 ms to seconds.
 */
const MAX_MS = 40

export const JSON_HEADERS = { 'content-type': 'application/fhir+json' }

interface Answered {
  readonly status: number
  readonly text: string
}

export interface TurnsServer {
  readonly base: string
  /** `leave` is called with what ends the request once all of the body is sent. */
  send(one: Omit<LargeBody, 'name' | 'status'>, leave?: (end: () => void) => void): Promise<Answered>
  /** Since the last call: the longest turn in milliseconds, and the most memory. */
  turns(): Promise<{ readonly most: number; readonly rss: number }>
  stop(): Promise<void>
}

/** With the resource that large ones refer to. Definitions are compiled already: that is not what is measured. */
export const startTurnsServer = async (): Promise<TurnsServer> => {
  const plugins = ['all-definitions', 'validation', 'references', 'audit', 'turns', 'limited']
  const fresh = await chosenKind.fresh(await namedPlugins(plugins))
  const server = await spawnServer(fresh.settings, { plugins })
  const send: TurnsServer['send'] = ({ method, path, headers, body }, leave) =>
    new Promise<Answered>((resolve, reject) => {
      const sent = request(
        `${server.base}${path}`,
        { method, agent: false, headers: { ...headers, prefer: 'return=minimal', 'content-length': body.length } },
        (answer) => {
          const chunks: Buffer[] = []
          answer
            .on('data', (chunk: Buffer) => void chunks.push(chunk))
            .on('end', () => resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() }))
            .on('error', reject)
        },
      ).on('error', reject)
      sent.end(body, () => leave?.(() => sent.destroy()))
    })
  // The first resource of a type compiles its definition.
  for (const one of largeBodies({ bytes: 1024, entries: 2 }, 'warm')) await send(one)
  const patient = Buffer.from('{"resourceType":"Patient","id":"probe","name":[{"family":"Probe"}]}')
  const { status } = await send({ method: 'PUT', path: '/Patient/probe', headers: JSON_HEADERS, body: patient })
  assert.is(status, 201)
  return {
    base: server.base,
    send,
    turns: async () => (await (await fetch(`${server.base}/turns`)).json()) as { most: number; rss: number },
    async stop() {
      await server.kill()
      await fresh.remove()
    },
  }
}

/** CPU time of reading a body of that size and writing it again in one go, which is no short turn, on this machine at this moment. */
const plainMs = (): number => {
  const text = collection(SIZES.bytes)
  const { user, system } = process.cpuUsage()
  JSON.stringify(JSON.parse(text))
  const used = process.cpuUsage({ user, system })
  return (used.user + used.system) / 1000
}
/** On a machine whose cores are slow or shared with others all of it takes more: what a turn takes is held against the plain way there. */
export const assertShort = (most: number, what = 'it'): void => {
  if (most < MAX_MS) return
  const plain = plainMs()
  assert.ok(most < 2 * plain, `${what} took ${most} ms in one turn; the plain way takes ${plain} ms`)
}
