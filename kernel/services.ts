/** Typed tokens by which one plugin offers a service to another without importing its code. */
import { ServiceMissing, ServiceTwice } from './errors.ts'
import { withMark } from './kernel-api.ts'

/** A token. Tokens of one name stand for one service, also where two copies of this package made them. */
export interface Service<T> {
  readonly name: string
  /** Never set; carries the type. */
  readonly type?: T
}

/**
 * Makes a token. Call it once, in the `service.ts` of the plugin that provides the instance. The name of a third
 * party's service begins with that of its plugin: `kafka/queue`.
 */
export const defineService = <T>(name: string): Service<T> => Object.freeze(withMark({ name }))

export interface ServiceRegistry {
  provide<T>(service: Service<T>, instance: T): void
  /** The instance. Throws when no plugin provided it; test with `has` whether an optional one exists. */
  get<T>(service: Service<T>): T
  has(service: Service<unknown>): boolean
}

export const createServices = (): ServiceRegistry => {
  const instances = new Map<string, unknown>()
  return {
    provide({ name }, instance) {
      if (instances.has(name)) throw ServiceTwice(name)
      instances.set(name, instance)
    },
    get<T>({ name }: Service<T>): T {
      if (!instances.has(name)) throw ServiceMissing(name)
      return instances.get(name) as T
    },
    has: ({ name }) => instances.has(name),
  }
}
