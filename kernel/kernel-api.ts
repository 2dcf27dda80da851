/**
 * The version of the kernel API, and a mark on plugins and service tokens that says with which version they were made.
 * npm may install a second copy of this package with a plugin: the mark is a registered symbol, so that one copy reads
 * what another one wrote.
 */

/** The kernel's plugin API, semver. A third-party plugin states the range it was written for in `api`. */
export const KERNEL_API = '2.0.0'

const MARK = Symbol.for('refhir.api')

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
const majorOf = (api: string): string => api.split('.', 1)[0] as string

/** Marks an object with the version of this copy; an existing mark stays. A frozen object without a mark is copied. */
export const withMark = <T extends object>(made: T): T => {
  if (Object.hasOwn(made, MARK)) return made
  const own: T = Object.isExtensible(made)
    ? made
    : Object.create(Object.getPrototypeOf(made), Object.getOwnPropertyDescriptors(made))
  // Not enumerable, so that a plugin that is spread into another one does not pass its mark on: the new one is marked
  // by the copy that makes it.
  return Object.defineProperty(own, MARK, { value: KERNEL_API })
}

/**
 * The version of the kernel API with which a plugin or token was made, if its major is not ours; otherwise undefined.
 */
export const otherMajor = (made: unknown): string | undefined => {
  if (!isObject(made) || !(MARK in made)) return undefined
  const api = String(made[MARK])
  return majorOf(api) === majorOf(KERNEL_API) ? undefined : api
}
