/** A port of loopback that nothing listens on, for programs that cannot say which one they took. */
import { once } from 'node:events'
import { createServer } from 'node:net'

export const freePort = async (): Promise<number> => {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  probe.close()
  await once(probe, 'close')
  return port
}
