/** Reads the query of endpoints such as `/_usage`, and makes links to their next pages. */
import { REQUEST_CLASSES, type RequestClass, type RequestContext } from './context.ts'
import { AdminParameter, AdminParameterUnknown } from './errors.ts'

const PRETTY = '_pretty' // mountAdmin reads it

/**
 * The value of each parameter by its name. Values are not checked beyond NUL. Throws 400 for a parameter that is not in
 * `parameters` or is given twice.
 */
export const readAdminQuery = ({ url }: RequestContext, parameters: readonly string[]): ReadonlyMap<string, string> => {
  const start = url.indexOf('?')
  const values = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(start === -1 ? '' : url.slice(start + 1))) {
    if (name !== PRETTY && !parameters.includes(name))
      throw AdminParameterUnknown(url.slice(0, start), name.slice(0, 64), [...parameters, PRETTY].join(', '))
    if (value.includes('\0')) throw AdminParameter(name, 'no NUL character')
    if (values.has(name)) throw AdminParameter(name, 'one value; it is given twice')
    values.set(name, value)
  }
  return values
}

/** The parameter `name` as a whole number from `least` to `most`; undefined when it is absent. Throws 400. */
export const readAdminNumber = (
  query: ReadonlyMap<string, string>,
  name: string,
  least: number,
  most: number,
): number | undefined => {
  const text = query.get(name)
  if (text === undefined) return undefined
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (!(number >= least && number <= most)) throw AdminParameter(name, `a number from ${least} to ${most}`)
  return number
}

/** The parameter `class`; undefined when it is absent. Throws 400. */
export const readAdminClass = (query: ReadonlyMap<string, string>): RequestClass | undefined => {
  const text = query.get('class')
  const found = REQUEST_CLASSES.find((one) => one === text)
  if (text !== undefined && found === undefined) throw AdminParameter('class', `one of ${REQUEST_CLASSES.join(', ')}`)
  return found
}

/** The URL of this request with one parameter replaced: the link to a next page. */
export const linkWith = ({ baseUrl, url }: RequestContext, name: string, value: string): string => {
  const start = url.indexOf('?')
  const parameters = new URLSearchParams(start === -1 ? '' : url.slice(start + 1))
  parameters.set(name, value)
  return `${baseUrl}${start === -1 ? url : url.slice(0, start)}?${parameters}`
}
