/** Adds definitions to those of another plugin, as if another package were installed. */
import { type AnyPlugin, definePlugin } from '../../kernel/index.ts'
import { DefinitionNames, Definitions } from '../../plugins/packages/service.ts'
import { namesOf } from './stub-definitions.ts'

interface Resource {
  readonly resourceType: string
  readonly id: string
  readonly url: string
  readonly version?: string
}

/** `name` and `version` are those of the added package; another version changes the fingerprint. */
export const moreDefinitions = (base: AnyPlugin, name: string, version: string, more: readonly Resource[]): AnyPlugin =>
  definePlugin({
    name: base.name,
    provides: [Definitions, DefinitionNames],
    uses: base.uses ?? [],
    setup(parts) {
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
        parts.provide(Definitions, extended)
        parts.provide(DefinitionNames, namesOf(extended))
      }
      return base.setup?.({ ...parts, provide } as never)
    },
  })
