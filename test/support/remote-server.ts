/** A server in another process, asked over HTTP with what a test would give to `inject`. */
import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import type { LightMyRequestResponse } from 'fastify'
import type { AnsweringServer } from './server-with.ts'

interface Asked {
  readonly method?: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly payload?: string | Buffer
}

interface Answered {
  readonly statusCode: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
  json(): unknown
}

/** `base`: address of the server. Answers have `statusCode`, `headers`, `body` and `json()`, and no other member. */
export const remoteServer = (base: string): AnsweringServer & { close(): void } => {
  const agent = new Agent({ keepAlive: true })
  const ask = ({ method = 'GET', url, headers, payload }: Asked): Promise<Answered> =>
    new Promise((resolve, reject) => {
      const sent = request(base + url, { method, agent, ...(headers !== undefined && { headers }) }, (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => void chunks.push(chunk))
        answer.once('error', reject)
        answer.once('end', () => {
          const body = Buffer.concat(chunks).toString('utf8')
          const json = (): unknown => JSON.parse(body)
          resolve({ statusCode: answer.statusCode ?? 0, headers: answer.headers, body, json })
        })
      })
      sent.once('error', reject)
      sent.end(payload)
    })
  return {
    inject: ((asked: string | Asked) =>
      ask(typeof asked === 'string' ? { url: asked } : asked) as unknown as Promise<LightMyRequestResponse>) as never,
    close: () => agent.destroy(),
  }
}
