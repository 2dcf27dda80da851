/** The routes of all plugins, from mounting them in apps that never listen: for descriptions of the server. */
import type { MountedRoutes } from './http-parts.ts'
import type { RouteConfig } from './route-config.ts'
import { schemaOptions } from './schema-compilers.ts'

export interface ListedRoute {
  readonly plugin: string
  readonly methods: readonly string[]
  /** As it was declared: `/export/:job`. */
  readonly path: string
  /** Passes no hook. */
  readonly bare: boolean
  readonly config: RouteConfig
}

export const listRoutes = async (routes: readonly MountedRoutes[]): Promise<readonly ListedRoute[]> => {
  const listed: ListedRoute[] = []
  const { default: fastify } = await import('fastify')
  for (const { plugin, callback, bare } of routes) {
    const app = fastify({ exposeHeadRoutes: false, ...schemaOptions() })
    app.addHook('onRoute', ({ method, url, config = {} }) => {
      listed.push({ plugin, methods: [method].flat(), path: url, bare, config })
    })
    app.register(callback)
    await app.ready()
    await app.close()
  }
  return listed
}
