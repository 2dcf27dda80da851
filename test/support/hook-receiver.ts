/** Receives the notifications of rest-hooks, as another party's server would. */
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** X-Event-Number. */
  readonly number: number
  /** X-Subscription. */
  readonly subscription: string
}

export interface HookReceiver {
  /** `127.0.0.1:8080` */
  readonly host: string
  /** Notifications that were answered with 2xx, without handshakes. */
  readonly taken: readonly Received[]
  /** All requests. */
  readonly all: Received[]
  /** Status of the answers; headers of a redirect. */
  answer: { readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  /** Event numbers that were accepted at a path. */
  numbers(path: string): readonly number[]
  /** Refuses connections until it is back. */
  leave(): Promise<void>
  comeBack(): Promise<void>
  close(): Promise<void>
}

const listen = (server: Server, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
const end = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })

export const startHookReceiver = async (): Promise<HookReceiver> => {
  const all: Received[] = []
  const taken: Received[] = []
  const make = (): Server =>
    createServer(async (request, response) => {
      let body = ''
      for await (const chunk of request.setEncoding('utf8')) body += chunk
      const { method = '', url = '', headers } = request
      const number = Number(headers['x-event-number'])
      const one = { method, url, headers, body, number, subscription: String(headers['x-subscription']) }
      all.push(one)
      const { status, headers: more = {} } = receiver.answer
      if (status >= 200 && status < 300 && number > 0) taken.push(one)
      response.writeHead(status, more).end()
    })
  let server = make()
  await listen(server, 0)
  const { port } = server.address() as AddressInfo
  const receiver: HookReceiver = {
    host: `127.0.0.1:${port}`,
    all,
    taken,
    answer: { status: 200 },
    numbers: (path) => taken.filter(({ url }) => url.startsWith(path)).map(({ number }) => number),
    leave: () => end(server),
    async comeBack() {
      server = make()
      await listen(server, port)
    },
    close: () => end(server),
  }
  return receiver
}
