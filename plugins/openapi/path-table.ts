/** Collects the paths of the document. What no registered route serves is left out. */
import type { ListedRoute } from '../../kernel/index.ts'
import type { Json } from './components.ts'

export interface PathTable {
  /** `/Patient/{id}`. Ignored where no route takes the method, or where the path has it already. */
  add(method: string, path: string, operation: Json): void
  /** Adds the path that was made from the declaration of a route. */
  addDeclared(method: string, path: string, operation: Json): void
  /** True when the document has a path for each route of this method and path. */
  covers(route: ListedRoute, method: string): boolean
  /** True when the path is one of the route. */
  isOf(route: ListedRoute, path: string): boolean
  readonly paths: Json
}

const segments = (path: string): readonly string[] => path.split('/').filter((one) => one !== '')

/** `:id` stands for any segment that is neither an operation nor history, `$:operation` for those of operations. */
const fits = (declared: string, segment: string): boolean => {
  if (declared === '*') return true
  if (declared.startsWith('$:')) return segment.startsWith('$')
  if (declared.startsWith(':')) return !segment.startsWith('$') && !segment.startsWith('_')
  return declared === segment
}

const serves = (route: string, path: string): boolean => {
  const [declared, asked] = [segments(route), segments(path)]
  return declared.length === asked.length && declared.every((one, at) => fits(one, asked[at] as string))
}

export const createPathTable = (routes: readonly ListedRoute[]): PathTable => {
  const paths = new Map<string, Map<string, Json>>()
  const addDeclared = (method: string, path: string, operation: Json): void => {
    const item = paths.get(path) ?? new Map<string, Json>()
    paths.set(path, item)
    if (!item.has(method.toLowerCase())) item.set(method.toLowerCase(), operation)
  }
  return {
    addDeclared,
    add(method, path, operation) {
      if (routes.some((route) => route.methods.includes(method) && serves(route.path, path)))
        addDeclared(method, path, operation)
    },
    covers: (route, method) =>
      [...paths].some(([path, item]) => item.has(method.toLowerCase()) && serves(route.path, path)),
    isOf: (route, path) => serves(route.path, path),
    get paths() {
      const sorted = [...paths].sort(([one], [other]) => (one < other ? -1 : 1))
      return Object.fromEntries(sorted.map(([path, item]) => [path, Object.fromEntries(item)]))
    },
  }
}
