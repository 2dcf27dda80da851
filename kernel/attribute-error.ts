/** Names the plugin, and the hook if it was one, on whatever was thrown: a stack through tapable or Fastify does not. */
import { messageOf } from './message-of.ts'

/** The error itself with `plugin` and `hook`, unless it has them already; a thrown value that is no error is wrapped in one. */
export const attributeError = (thrown: unknown, plugin: string, hook?: string): unknown => {
  const error = thrown instanceof Error ? thrown : new Error(messageOf(thrown), { cause: thrown })
  const named = error as Error & { plugin?: string; hook?: string }
  // A shared, frozen error stays as it is: failing to name somebody must not hide what happened.
  if (named.plugin !== undefined || !Object.isExtensible(named)) return error
  named.plugin = plugin
  if (hook !== undefined) named.hook = hook
  return error
}
