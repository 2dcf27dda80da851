/** Services: typed tokens by which one plugin offers work to another without importing its code. */
import { ServiceMissing, ServiceTwice } from './errors.ts'

/** A token. Two plugins that share it agree on the type; the name is for messages only. */
export interface Service<T> {
  readonly name: string
  /** Never set; carries the type. */
  readonly type?: T
}

/** Makes a token. Call it once, in the `service.ts` of the plugin that provides the instance. */
export const defineService = <T>(name: string): Service<T> => Object.freeze({ name })

export interface ServiceRegistry {
  provide<T>(service: Service<T>, instance: T): void
  /** The instance. Throws when no plugin provided it: an optional need is asked for with `has` first. */
  get<T>(service: Service<T>): T
  has(service: Service<unknown>): boolean
}

export const createServices = (): ServiceRegistry => {
  const instances = new Map<Service<unknown>, unknown>()
  return {
    provide(service, instance) {
      if (instances.has(service)) throw ServiceTwice(service.name)
      instances.set(service, instance)
    },
    get<T>(service: Service<T>): T {
      if (!instances.has(service)) throw ServiceMissing(service.name)
      return instances.get(service) as T
    },
    has: (service) => instances.has(service),
  }
}
