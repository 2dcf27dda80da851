/** Serves texts over HTTP on a port of its own. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface StaticServer {
  /** `http://127.0.0.1:port` */
  readonly address: string
  close(): Promise<void>
}

export const serve = async (
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<StaticServer> => {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
