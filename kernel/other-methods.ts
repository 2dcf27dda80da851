/** An address that is there and does not take a method answers 405 with those it takes. RFC 9110, section 15.5.6. */
import type { FastifyInstance, HTTPMethods } from 'fastify'
import { MethodRefused } from './errors.ts'

/** Mounts routes, then answers the methods that none of them takes. */
export const refuseOtherMethods = (scope: FastifyInstance, mount: () => void): void => {
  const taken = new Map<string, Set<string>>()
  scope.addHook('onRoute', ({ method, url }) => {
    // The root is mounted with and without the slash behind its prefix.
    const path = url.slice(scope.prefix.length) || '/'
    const methods = taken.get(path) ?? new Set<string>()
    for (const one of [method].flat()) methods.add(one)
    taken.set(path, methods)
  })
  mount()
  // Registered after the plugins, so that all of their routes are known: several may share a path.
  scope.register((own, _options, done) => {
    for (const [url, methods] of [...taken]) {
      const allow = [...methods].join(', ')
      const others = own.supportedMethods.filter((one) => !methods.has(one)) as HTTPMethods[]
      if (others.length > 0)
        own.route({
          method: others,
          url,
          // Refused before the body is read.
          onRequest: (request, _reply, next) => next(MethodRefused(request.method).with({ headers: { allow } })),
          handler: () => undefined,
        })
    }
    done()
  })
}
