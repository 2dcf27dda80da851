/**
 * Resolves a package name to a file, as `import` in another folder would. Node resolves only from the importing file's
 * own folder (`import.meta.resolve`), and `require.resolve` finds no package that exports for `import` only. The package
 * resolve.exports stops at a condition whose value has nothing for `import`, where Node tries the next condition.
 * https://nodejs.org/api/packages.html#conditional-exports
 */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'

type Target = string | null | readonly Target[] | { readonly [condition: string]: Target }

const CONDITIONS = new Set(['node', 'import', 'module-sync', 'default'])

/** The first target whose conditions hold; undefined when there is none, or when it is closed with null. */
const choose = (target: Target | undefined): string | undefined => {
  if (typeof target === 'string' || target === null || target === undefined) return target ?? undefined
  if (Array.isArray(target)) return target.map(choose).find((one) => one !== undefined)
  for (const [condition, inner] of Object.entries(target as Record<string, Target>)) {
    if (!CONDITIONS.has(condition)) continue
    const chosen = choose(inner)
    if (chosen !== undefined || inner === null) return chosen
  }
  return undefined
}

/** `.` or `./sub` → the target of the exports, with what a `*` stood for put in. */
const targetOf = (exports: Target, subpath: string): string | undefined => {
  const isMap =
    typeof exports === 'object' && exports !== null && Object.keys(exports).some((key) => key.startsWith('.'))
  if (!isMap) return subpath === '.' ? choose(exports) : undefined
  const map = exports as Record<string, Target>
  if (Object.hasOwn(map, subpath) && !subpath.includes('*')) return choose(map[subpath])
  const patterns = Object.keys(map)
    .map((key) => ({ key, parts: key.split('*') }))
    .filter(
      ({ parts: [before = '', after] }) => after !== undefined && subpath.startsWith(before) && subpath.endsWith(after),
    )
    .filter(({ key }) => subpath.length >= key.length)
    .sort((a, b) => b.parts[0]!.length - a.parts[0]!.length)
  const best = patterns[0]
  if (best === undefined) return undefined
  const [before = '', after = ''] = best.parts
  const star = subpath.slice(before.length, subpath.length - after.length)
  return choose(map[best.key])?.replaceAll('*', star)
}

/**
 * `@acme/plugin` or `@acme/plugin/sub`, looked up in the node_modules of `folder` and of those above it. Throws when
 * there is none.
 */
export const packageEntry = (reference: string, folder: string): string => {
  const require = createRequire(resolve(folder, 'server.toml'))
  const [, name, rest] = /^((?:@[^/]+\/)?[^/]+)(\/.*)?$/.exec(reference) ?? []
  const home = (name === undefined ? null : require.resolve.paths(name))
    ?.map((place) => join(place, name as string))
    .find((place) => existsSync(join(place, 'package.json')))
  if (home === undefined)
    throw new Error(`there is no package of that name in node_modules of ${resolve(folder)} or above`)
  const { exports } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as { exports?: Target }
  if (exports === undefined || exports === null) return require.resolve(reference)
  const target = targetOf(exports, `.${rest ?? ''}`)
  if (target === undefined)
    throw new Error(`the exports in ${join(home, 'package.json')} offer nothing to import there`)
  return join(home, target)
}
