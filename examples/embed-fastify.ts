/**
 * The server inside a Fastify app of yours, under /fhir: links, Location and fullUrl carry the prefix. It starts when the
 * app does, answers 503 until it is ready, and stops with `app.close()`, after the requests in flight.
 * Set [server] public_url to the URL of the mount, so that absolute references under it are the server's own.
 * Elsewhere, import from 'refhir' and 'refhir/plugins'. Try it: node examples/embed-fastify.ts
 */
import fastify, { type FastifyInstance } from 'fastify'
import { createKernel, type Kernel, type KernelOptions } from '../kernel/index.ts'
import { firstParty } from '../plugins/index.ts'

export const createApp = async (
  options: KernelOptions = { plugins: firstParty, settings: { database: { kind: 'memory' } } },
): Promise<{ readonly app: FastifyInstance; readonly kernel: Kernel }> => {
  const kernel = await createKernel(options)
  const app = fastify()
  app.get('/', async () => 'This is the app; FHIR is at /fhir.\n')
  app.register(kernel.fastify, { prefix: '/fhir' })
  return { app, kernel }
}

if (import.meta.main) {
  const { app, kernel } = await createApp()
  console.log(`${await app.listen({ port: 3000 })}/fhir/readyz`)
  await kernel.start() // begun by the app; whoever awaits it learns whether it went well
  console.log('ready')
}
