/** Mounts one plugin's routes in a scope of their own; errors there, at mounting or later, name the plugin. */
import type { FastifyInstance, FastifyPluginCallback } from 'fastify'
import type { AnswerError } from './answer-error.ts'
import type { DirectGet } from './direct-router.ts'
import { PluginRoutes } from './errors.ts'
import type { HttpParts, MountedRoutes, MountOptions } from './http-parts.ts'
import { messageOf } from './message-of.ts'
import { named } from './named-scope.ts'
import { checkRoute } from './route-config.ts'
import { answerErrors } from './scope-errors.ts'
import { mountUpgrade } from './upgrade-route.ts'

export interface PluginMountParts {
  readonly parts: HttpParts
  readonly answerError: AnswerError
  readonly options: MountOptions
}

/** Adds the plugin's GET routes to `mounted`. */
export const mountPlugin = (
  scope: FastifyInstance,
  { plugin, callback, bare }: MountedRoutes,
  mounted: DirectGet[],
  { parts, answerError, options }: PluginMountParts,
): void => {
  const unmountable = (error: unknown) => PluginRoutes(plugin, messageOf(error)).with({ cause: error })
  const enter: FastifyPluginCallback = (outer, _outerOptions, outerDone) => {
    answerErrors(outer, answerError, options, plugin)
    outer.addHook('onRoute', (route) => {
      checkRoute(route, bare)
      const { method, url, config = {} } = route
      if (config.upgrade === true) mountUpgrade(route, plugin, parts)
      if ([method].flat().includes('GET')) mounted.push({ plugin, path: url, config })
    })
    const call: FastifyPluginCallback = (own, ownOptions, done) => {
      try {
        // An async callback returns a promise.
        const returned: unknown = callback(own, ownOptions, (error) =>
          error === undefined ? done() : done(unmountable(error)),
        )
        return (returned as Promise<void> | undefined)?.then?.(undefined, (error) => Promise.reject(unmountable(error)))
      } catch (error) {
        done(unmountable(error))
      }
    }
    outer.register(named(plugin, call))
    outerDone()
  }
  scope.register(named(`errors of ${plugin}`, enter))
}
