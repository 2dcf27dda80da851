/** Reads the query of endpoints such as `/_usage`, and makes links to their next pages. */
import { REQUEST_CLASSES, type RequestClass, type RequestContext } from './context.ts'
import { AdminParameter, AdminParameterUnknown } from './errors.ts'

const PRETTY = '_pretty' // mountAdmin reads it
const SHOWN = 64 // characters of an unknown name that the refusal quotes

/** The path of a URL and its parameters. */
const readQuery = (url: string) => {
  const start = url.indexOf('?')
  return {
    path: start === -1 ? url : url.slice(0, start),
    query: new URLSearchParams(start === -1 ? '' : url.slice(start + 1)),
  }
}

const refuseUnknown = (path: string, name: string, known: readonly string[]): void => {
  if (known.includes(name)) return
  throw AdminParameterUnknown(path, name.slice(0, SHOWN), known.length === 0 ? 'none' : known.join(', '))
}

/** For a route that reads few parameters or none: throws 400 for one that is not in `known`. */
export const checkParameters = ({ url }: RequestContext, known: readonly string[] = []): void => {
  const { path, query } = readQuery(url)
  for (const name of query.keys()) refuseUnknown(path, name, known)
}

/**
 * The value of each parameter by its name. Values are not checked beyond NUL. Throws 400 for a parameter that is not in
 * `parameters` or is given twice.
 */
export const readAdminQuery = ({ url }: RequestContext, parameters: readonly string[]): ReadonlyMap<string, string> => {
  const { path, query } = readQuery(url)
  const known = [...parameters, PRETTY]
  const values = new Map<string, string>()
  for (const [name, value] of query) {
    refuseUnknown(path, name, known)
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
  const { path, query } = readQuery(url)
  query.set(name, value)
  return `${baseUrl}${path}?${query}`
}
