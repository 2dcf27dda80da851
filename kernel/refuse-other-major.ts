/**
 * Refuses plugins and service tokens that were made with another major version of the kernel API, by another copy of
 * this package.
 */
import { PluginCopy, TokenCopy } from './errors.ts'
import { KERNEL_API, otherMajor } from './kernel-api.ts'

/** What a plugin declares, before its shape is checked: that of another major may differ. */
interface Declared {
  readonly name: string
  readonly needs?: unknown
  readonly uses?: unknown
  readonly provides?: unknown
}

const valuesOf = (list: unknown): readonly unknown[] =>
  typeof list === 'object' && list !== null ? Object.values(list) : []

/** Throws `PluginCopy` or `TokenCopy`, whatever range the plugin states in `api`. */
export const refuseOtherMajor = (plugin: Declared): void => {
  const madeWith = otherMajor(plugin)
  if (madeWith !== undefined) throw PluginCopy(plugin.name, madeWith, KERNEL_API)
  for (const token of [plugin.needs, plugin.uses, plugin.provides].flatMap(valuesOf)) {
    const tokenMadeWith = otherMajor(token)
    if (tokenMadeWith !== undefined)
      throw TokenCopy(plugin.name, String((token as { name?: unknown }).name), tokenMadeWith, KERNEL_API)
  }
}
