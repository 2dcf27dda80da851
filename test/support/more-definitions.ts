/** Adds definitions to those of another plugin, as if another package were installed. */
import { type AnyPlugin, definePlugin } from '../../kernel/index.ts'
import { Definitions } from '../../plugins/packages/service.ts'

interface Resource {
  readonly resourceType: string
  readonly id: string
  readonly url: string
}

/** `name` and `version` are those of the added package; another version changes the fingerprint. */
export const moreDefinitions = (base: AnyPlugin, name: string, version: string, more: readonly Resource[]): AnyPlugin =>
  definePlugin({
    name: base.name,
    provides: [Definitions],
    uses: base.uses ?? [],
    setup(parts) {
      const added = more.map((resource) => ({
        package: `${name}@${version}`,
        type: resource.resourceType,
        id: resource.id,
        url: resource.url,
        json: JSON.stringify(resource),
      }))
      const provide = (_token: unknown, inner: Definitions): void =>
        parts.provide(Definitions, {
          ...inner,
          packages: [...inner.packages, { name, version }],
          fingerprint: `${inner.fingerprint}+${name}@${version}`,
          all: async (type) => [...(await inner.all(type)), ...added.filter((one) => one.type === type)],
          find: async (type, url, wanted) =>
            added.find((one) => one.type === type && one.url === url) ?? inner.find(type, url, wanted),
        })
      return base.setup?.({ ...parts, provide } as never)
    },
  })
