/** The paths of all other routes: those of plugins, from their declarations. */
import type { ListedRoute } from '../../kernel/index.ts'
import { type Json, ref } from './components.ts'
import type { PathTable } from './path-table.ts'

/** The general routes of operations answer codes that are not registered with 404. */
const isOfUnknownOperations = ({ path }: ListedRoute): boolean => path.includes('$:')

/** `/export/:job/file` → `/export/{job}/file`; a pattern behind the name is left out, `*` is the parameter `rest`. */
const toPath = (declared: string): string =>
  declared
    .replace(/:(\w+)(\([^/]*\))?/g, '{$1}')
    .replace(/\*/g, '{rest}')
    .replace(/(?<=.)\/$/, '')

const operationOf = ({ plugin, config, bare }: ListedRoute, method: string, path: string): Json => {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    ...{ name, in: 'path', required: true },
    schema: { type: 'string' },
  }))
  const inQuery = (config.query ?? []).map((name) => ({ name, in: 'query', schema: { type: 'string' } }))
  const done = config.upgrade === true ? { 101: { description: 'A WebSocket.' } } : { 200: ref('responses', 'Answer') }
  return {
    tags: [plugin],
    operationId: `${method.toLowerCase()}${path.replace(/[^A-Za-z0-9]+(\w?)/g, (_all, next: string) => next.toUpperCase())}`,
    ...(config.summary !== undefined && { summary: config.summary }),
    ...(inPath.length + inQuery.length > 0 && { parameters: [...inPath, ...inQuery] }),
    responses: { ...done, ...(!bare && { default: ref('responses', 'Error') }) },
  }
}

export const addOtherPaths = (table: PathTable, routes: readonly ListedRoute[]): void => {
  for (const route of routes) {
    if (isOfUnknownOperations(route)) continue
    for (const method of route.methods) {
      const path = toPath(route.path)
      if (!table.covers(route, method)) table.addDeclared(method, path, operationOf(route, method, path))
    }
  }
}
