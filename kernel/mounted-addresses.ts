/**
 * Adds routes to those of the plugins once all are known: each path answers with a slash at its end as well, and answers 405
 * to methods that no route takes. RFC 9110, section 15.5.6.
 */
import type { FastifyInstance, HTTPMethods, RouteOptions } from 'fastify'
import { MethodRefused } from './errors.ts'

interface MountedRoute {
  /** The scope that the route was mounted in, whose hooks and parsers it has. */
  readonly scope: FastifyInstance
  /** As the plugin declared it, below the prefix of that scope. */
  readonly path: string
  readonly options: RouteOptions
}

interface Address {
  readonly methods: Set<string>
  /** The scope of its bare routes, as long as it has no others: then the 405 passes no hook either. */
  bare: FastifyInstance | undefined
}

export interface MountedAddresses {
  /** Collects the routes that are mounted below `scope` from now on. */
  watch(scope: FastifyInstance, isBare: boolean): void
  /**
   * To be called when all plugins are mounted. Routes that answer 405 are mounted in `hooked`; those of paths that have only bare
   * routes are mounted in the scope of these.
   */
  complete(hooked: FastifyInstance): void
}

/** A path that can take a slash: not the root, and without a wildcard or optional parameter at its end. */
const SLASHABLE = /[^/*?]$/

export const collectAddresses = (): MountedAddresses => {
  const routes: MountedRoute[] = []
  /** By their path below the prefix of the kernel. */
  const addresses = new Map<string, Address>()

  const addSlashes = ({ prefix }: FastifyInstance): void => {
    for (const { scope, path, options } of [...routes]) {
      const beside = addresses.get(`${options.url.slice(prefix.length)}/`)
      const isMounted = [options.method].flat().some((method) => beside?.methods.has(method))
      // HEAD was collected like every other method, so it is not added to GET again.
      if (SLASHABLE.test(path) && !isMounted) scope.route({ ...options, url: `${path}/`, exposeHeadRoute: false })
    }
  }
  const refuseOthers = (scope: FastifyInstance, url: string, methods: ReadonlySet<string>): void => {
    const allow = [...methods].join(', ')
    const others = scope.supportedMethods.filter((one) => !methods.has(one)) as HTTPMethods[]
    if (others.length > 0)
      scope.route({
        method: others,
        url,
        // Refused before the body is read.
        onRequest: (request, _reply, next) => next(MethodRefused(request.method).with({ headers: { allow } })),
        handler: () => undefined,
      })
  }
  return {
    watch(watched, isBare) {
      const bare = isBare ? watched : undefined
      watched.addHook('onRoute', function collect(options) {
        const { method, routePath } = options
        // The root is mounted with and without the slash behind its prefix.
        const url = options.url.slice(watched.prefix.length) || '/'
        const address = addresses.get(url) ?? { methods: new Set(), bare }
        for (const one of [method].flat()) address.methods.add(one)
        if (!isBare) address.bare = undefined
        addresses.set(url, address)
        // A copy: hooks behind this one change the options, and will change those of the copy too.
        routes.push({ scope: this, path: routePath, options: { ...options } })
      })
    },
    complete(hooked) {
      addSlashes(hooked)
      for (const [url, { methods, bare }] of [...addresses]) refuseOthers(bare ?? hooked, url, methods)
    },
  }
}
