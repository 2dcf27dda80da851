/**
 * Adds the names of the plugin and hook to an error that a plugin threw: a stack trace through tapable or Fastify does
 * not show them.
 */
import { messageOf } from './message-of.ts'

/**
 * The error itself with `plugin` and `hook`, unless it has them already; a thrown value that is not an error is
 * wrapped.
 */
export const attributeError = (thrown: unknown, plugin: string, hook?: string): unknown => {
  const error = thrown instanceof Error ? thrown : new Error(messageOf(thrown), { cause: thrown })
  const named = error as Error & { plugin?: string; hook?: string }
  // A frozen error cannot be marked. It is returned as it is: throwing here would hide the original error.
  if (named.plugin !== undefined || !Object.isExtensible(named)) return error
  named.plugin = plugin
  if (hook !== undefined) named.hook = hook
  return error
}
