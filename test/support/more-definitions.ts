/** Adds definitions to those of another plugin, as if another package were installed. */
import { hash } from 'node:crypto'
import { type AnyPlugin, definePlugin } from '../../kernel/index.ts'
import { Database } from '../../plugins/database/service.ts'
import { DefinitionNames, Definitions } from '../../plugins/packages/service.ts'
import { catalogKeyOf, keepCompiledCatalog, putCompiledCatalog, withCatalogKey } from './compiled-catalogs.ts'
import { namesOf } from './stub-definitions.ts'

interface Resource {
  readonly resourceType: string
  readonly id: string
  readonly url: string
  readonly version?: string
}

/** `name` and `version` are those of the added package; another version changes the fingerprint. */
/**
 * `isKept`: servers of a run share what was compiled, as they do without the addition. The one that compiles them logs what
 * is wrong with them, and the others do not.
 */
export const moreDefinitions = (
  base: AnyPlugin,
  name: string,
  version: string,
  more: readonly Resource[],
  { isKept = false }: { readonly isKept?: boolean } = {},
): AnyPlugin => {
  const ofBase = isKept ? catalogKeyOf(base) : undefined
  const key = ofBase && JSON.stringify([ofBase, name, version, hash('sha256', JSON.stringify(more))])
  const plugin = definePlugin({
    name: base.name,
    provides: [Definitions, DefinitionNames],
    uses: base.uses ?? [],
    setup(parts) {
      let fingerprint = ''
      const added = more.map((resource) => ({
        package: `${name}@${version}`,
        type: resource.resourceType,
        id: resource.id,
        url: resource.url,
        ...(resource.version === undefined ? {} : { version: resource.version }),
        json: JSON.stringify(resource),
      }))
      const extend = (inner: Definitions): Definitions => ({
        ...inner,
        packages: [...inner.packages, { name, version }],
        fingerprint: `${inner.fingerprint}+${name}@${version}`,
        all: async (type) => [...(await inner.all(type)), ...added.filter((one) => one.type === type)],
        find: async (type, url, wanted) =>
          added.find((one) => one.type === type && one.url === url) ?? inner.find(type, url, wanted),
      })
      const provide = (token: unknown, inner: Definitions): void => {
        if (token !== Definitions) return
        const extended = extend(inner)
        fingerprint = extended.fingerprint
        parts.provide(Definitions, extended)
        parts.provide(DefinitionNames, namesOf(extended))
      }
      const life = base.setup?.({ ...parts, provide } as never)
      const database = parts.optional(Database)
      // The catalog of the base lacks the added definitions, so it is not put into the database.
      if (key === undefined || life === undefined || database === undefined) return life
      return {
        start: () => putCompiledCatalog(database, key),
        stop: () => keepCompiledCatalog(database, key, fingerprint),
      }
    },
  })
  return key === undefined ? plugin : withCatalogKey(plugin, key)
}
