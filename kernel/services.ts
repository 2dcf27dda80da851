/** Typed tokens by which one plugin offers a service to another without importing its code. */
import { DecoratedLate, ServiceMissing, ServiceTwice } from './errors.ts'
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
  /** `wrap` makes the instance of what is provided later. Throws when the service is there already. */
  decorate<T>(service: Service<T>, wrap: (instance: T) => T): void
  /** The instance. Throws when no plugin provided it; test with `has` whether an optional one exists. */
  get<T>(service: Service<T>): T
  has(service: Service<unknown>): boolean
}

export const createServices = (): ServiceRegistry => {
  const instances = new Map<string, unknown>()
  const wraps = new Map<string, ((instance: any) => unknown)[]>()
  return {
    provide({ name }, instance) {
      if (instances.has(name)) throw ServiceTwice(name)
      const made = (wraps.get(name) ?? []).reduce((one: unknown, wrap) => wrap(one), instance)
      instances.set(name, made)
    },
    decorate({ name }, wrap) {
      if (instances.has(name)) throw DecoratedLate(name)
      wraps.set(name, [...(wraps.get(name) ?? []), wrap])
    },
    get<T>({ name }: Service<T>): T {
      if (!instances.has(name)) throw ServiceMissing(name)
      return instances.get(name) as T
    },
    has: ({ name }) => instances.has(name),
  }
}
