/** An object with some methods of its own, and all others of the given one, called on that. */
export const withMethods = <T extends object>(instance: T, own: Partial<T>): T => {
  const bound = new Map<PropertyKey, unknown>()
  // The target is empty: a frozen one would not let its members be replaced.
  return new Proxy({} as T, {
    has: (_target, name) => name in instance,
    get(_target, name) {
      if (Object.hasOwn(own, name)) return own[name as keyof T]
      const value = Reflect.get(instance, name, instance) as unknown
      if (typeof value !== 'function') return value
      const known = bound.get(name) ?? value.bind(instance)
      bound.set(name, known)
      return known
    },
  })
}
