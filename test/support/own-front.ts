/** The rules of examples/deploy/nginx.conf in this process: its table says where a request goes. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse, request as send } from 'node:http'
import type { Duplex } from 'node:stream'
import type { DeployFront, DeployServers } from './deploy-front.ts'
import { readNginxMap } from './read-nginx-map.ts'

const PROBE_MS = 3_000

const serversFor = readNginxMap('refhir_servers')

const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/readyz`, { signal: AbortSignal.timeout(PROBE_MS) }).then(
    ({ status }) => status === 200,
    () => false,
  )

const refuse = (response: ServerResponse, text: string): void => {
  if (response.headersSent) return void response.destroy()
  const issue = [{ severity: 'error', code: 'transient', diagnostics: text }]
  response.writeHead(503, { 'content-type': 'application/fhir+json', 'retry-after': '2' })
  response.end(JSON.stringify({ resourceType: 'OperationOutcome', issue }))
}

const headersFor = ({ headers, socket }: IncomingMessage): Record<string, string | string[] | undefined> => {
  const before = headers['x-forwarded-for']
  const own = socket.remoteAddress ?? ''
  return { ...headers, 'x-forwarded-for': before === undefined ? own : `${String(before)}, ${own}` }
}

/** Passes a request on and its answer back, as they arrive. Resolves with false where `mayRefuse` and the server did. */
const pass = (to: string, request: IncomingMessage, response: ServerResponse, mayRefuse: boolean): Promise<boolean> =>
  new Promise((resolve) => {
    const onward = send(`${to}${request.url ?? '/'}`, { method: request.method, headers: headersFor(request) })
    onward.on('error', () => {
      if (mayRefuse && !response.headersSent) return resolve(false)
      refuse(response, 'The server went away before it answered; the request may have been carried out.')
      resolve(true)
    })
    onward.on('response', (answer) => {
      if (mayRefuse && answer.statusCode === 503) {
        answer.resume()
        return resolve(false)
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      response.flushHeaders()
      answer.pipe(response)
      answer.on('error', () => response.destroy())
      resolve(true)
    })
    response.on('close', () => onward.destroy())
    // A search by POST may be sent twice, so its body is buffered; a change is sent once.
    if (mayRefuse) void bodyOf(request).then((body) => onward.end(body))
    else request.pipe(onward)
  })

const bodies = new WeakMap<IncomingMessage, Promise<Buffer>>()
const bodyOf = (request: IncomingMessage): Promise<Buffer> => {
  const known = bodies.get(request) ?? request.toArray().then((chunks) => Buffer.concat(chunks as Buffer[]))
  bodies.set(request, known)
  return known
}

export const startOwnFront = async (): Promise<DeployFront> => {
  let servers: DeployServers | undefined
  /** The one of both that is ready, asked for each request. */
  const findWriter = async (): Promise<string | undefined> => {
    for (const url of servers?.writers ?? []) if (await isReady(url)) return url
    return undefined
  }
  const write = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const writer = await findWriter()
    if (writer === undefined) refuse(response, 'No server can answer this at the moment; nothing was changed.')
    else await pass(writer, request, response, false)
  }
  const read = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    for (const url of servers === undefined ? [] : [servers.reader, ...servers.writers])
      if (await pass(url, request, response, true)) return
    refuse(response, 'No server can answer this at the moment; nothing was changed.')
  }
  const upgrade = async (request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    const writer = await findWriter()
    if (writer === undefined) return void socket.end('HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n\r\n')
    const onward = send(`${writer}${request.url ?? '/'}`, { headers: headersFor(request) }).end()
    onward.on('error', () => socket.destroy())
    onward.on('response', () => socket.destroy())
    onward.on('upgrade', ({ rawHeaders }, other, first) => {
      const lines = rawHeaders.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('')
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines}\r\n`)
      socket.write(first)
      other.write(head)
      socket.pipe(other).pipe(socket)
      socket.on('error', () => other.destroy()).on('close', () => other.destroy())
      other.on('error', () => socket.destroy()).on('close', () => socket.destroy())
    })
  }
  const outer = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://front')
    const goesTo = serversFor(`${request.method} ${decodeURIComponent(pathname)}`)
    void (goesTo === 'writers' ? write : read)(request, response)
  }).on('upgrade', (request, socket, head) => void upgrade(request, socket, head))
  const inner = createServer((request, response) => void write(request, response))
  const listen = async (server: Server): Promise<string> => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return `http://127.0.0.1:${(server.address() as { port: number }).port}`
  }
  const [address, primaryUrl] = [await listen(outer), await listen(inner)]
  return {
    address,
    primaryUrl,
    begin: async (given) => {
      servers = given
    },
    async stop() {
      for (const server of [outer, inner]) {
        server.close()
        server.closeAllConnections()
      }
    },
  }
}
