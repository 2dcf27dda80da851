/**
 * The version of the kernel API, and the mark by which plugins and service tokens tell what they were made with. npm may
 * install a second copy of this package with a plugin: the mark is a registered symbol, so that one copy reads what
 * another one wrote.
 */

/** The kernel's plugin API, semver. A third-party plugin states the range it was written for in `api`. */
export const KERNEL_API = '2.0.0'

const MARK = Symbol.for('refhir.api')

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
const majorOf = (api: string): string => api.split('.', 1)[0] as string

/** The same object with the version of this copy; a mark that it has stays. Of a frozen object without a mark, a copy. */
export const withMark = <T extends object>(made: T): T => {
  if (Object.hasOwn(made, MARK)) return made
  const own: T = Object.isExtensible(made)
    ? made
    : Object.create(Object.getPrototypeOf(made), Object.getOwnPropertyDescriptors(made))
  // Not enumerable: a plugin that is made of the parts of another one gets the mark of the copy that makes it.
  return Object.defineProperty(own, MARK, { value: KERNEL_API })
}

/** The version of the kernel API with which a plugin or token was made, where its major is not ours. */
export const otherMajor = (made: unknown): string | undefined => {
  if (!isObject(made) || !(MARK in made)) return undefined
  const api = String(made[MARK])
  return majorOf(api) === majorOf(KERNEL_API) ? undefined : api
}
